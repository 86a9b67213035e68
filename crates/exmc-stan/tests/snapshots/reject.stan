parameters { real x; }
model {
  if (x > 3) reject("too large");
  x ~ std_normal();
}
