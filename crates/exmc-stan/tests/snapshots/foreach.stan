parameters { array[2] vector[2] v; }
model { for (u in v) for (x in u) target += -square(x); }
