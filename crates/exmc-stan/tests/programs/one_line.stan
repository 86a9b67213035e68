data{int N;vector[N]y;}parameters{real m;}model{y~normal(m,1);}
