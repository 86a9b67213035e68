model {
  {
    real a = 1;
    {
      real b = a;
      {
        real c = b;
      }
    }
  }
}
