"""Writes ode_loose.csv: solutions of predator and prey by Stan's explicit solvers at loose tolerances.

Columns: method, both tolerances, time, the states from data, then each state from parameters with its derivatives
by the four rates. Run by hand with stanli, an interpreter of Stan programs over Stan Math.
"""
import stanli
code='''functions {{ vector f(real t, vector y, vector theta) {{ return [ (theta[1]-theta[2]*y[2])*y[1], (-theta[3]+theta[4]*y[1])*y[2] ]'; }} }}
data {{ int i; int j; vector[2] y0; vector[4] th; array[5] real ts; real rel; real abst; }}
transformed data {{ array[5] vector[2] yd = ode_{m}_tol(f, y0, 0.0, ts, rel, abst, 100000, th); }}
parameters {{ vector[4] theta; real x; }}
model {{ 
  if (j > 0) {{ array[5] vector[2] yp = ode_{m}_tol(f, y0, 0.0, ts, rel, abst, 100000, theta); target += yp[i,j]; target += 0*x; }}
  else target += 0*sum(theta)+ x*0 + yd[i,-j];
}}'''
th=[0.55,0.028,0.84,0.026]
ts=[0.7,3.1,6.0,9.45,12.5]
for m in ['rk45','ckrk']:
    for tol in [1e-3,1e-5]:
        for i in range(1,6):
            row=[]
            for j in [-1,-2,1,2]:
                md=stanli.Model(stan_code=code.format(m=m),data=dict(i=i,j=j,y0=[30.0,4.0],th=th,ts=ts,rel=tol,abst=tol))
                v,g=md.log_prob_grad(th+[0.3])
                row.append(repr(float(v)))
                if j>0: row+= [repr(float(x)) for x in list(g)[:4]]
            print(",".join([m,f"{tol:g}".replace("1e-05","0.00001"),repr(ts[i-1])]+row),flush=True)
