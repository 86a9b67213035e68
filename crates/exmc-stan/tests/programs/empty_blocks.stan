data {
}
parameters {
}
model {
}
