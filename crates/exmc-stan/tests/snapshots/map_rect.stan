functions {
  vector shard(vector phi, vector theta, data array[] real x, data array[] int k) {
    return [normal_lpdf(x[1] | phi[1] + theta[1], 1)]';
  }
}
transformed data {
  array[2, 1] real x = {{0.5}, {1.5}};
  array[2, 1] int k = {{1}, {2}};
}
parameters { vector[1] phi; array[2] vector[1] theta; }
model { target += sum(map_rect(shard, phi, theta, x, k)); }
