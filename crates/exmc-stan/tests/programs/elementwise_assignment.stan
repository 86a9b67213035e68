transformed data {
  vector[2] v = [1, 2]';
  v .*= [3, 4]';
  v ./= 2;
  v[1 : 2] = v[{2, 1}];
}
