"""Densities without their constants, by the types of arguments, from Stan Math -> a table.

Writes a C++ program that calls `NAME_lpdf<true>` (`_lpmf`) with every choice of which real arguments are `var` and which `double`,
compiles it against Stan Math's headers (here those that httpstan 4.13.0 brings: Stan 2.35) and prints its output.

    pip download httpstan==4.13.0 --no-deps && unzip httpstan-*.whl -d hs
    python propto.py hs/httpstan/include > propto.txt
"""
import itertools, subprocess, sys

# r: real, v: vector, m: matrix, i: integer, I: array of integers. The first is the outcome.
R = "r"
DENSITIES = {
    "normal": ("lpdf", [0.7, -0.4, 1.7]),
    "std_normal": ("lpdf", [0.7]),
    "exp_mod_normal": ("lpdf", [0.7, -0.4, 1.7, 0.8]),
    "skew_normal": ("lpdf", [0.7, -0.4, 1.7, 0.8]),
    "student_t": ("lpdf", [0.7, 3.5, -0.4, 1.7]),
    "cauchy": ("lpdf", [0.7, -0.4, 1.7]),
    "double_exponential": ("lpdf", [0.7, -0.4, 1.7]),
    "logistic": ("lpdf", [0.7, -0.4, 1.7]),
    "gumbel": ("lpdf", [0.7, -0.4, 1.7]),
    "skew_double_exponential": ("lpdf", [0.7, -0.4, 1.7, 0.3]),
    "lognormal": ("lpdf", [0.7, -0.4, 1.7]),
    "chi_square": ("lpdf", [0.7, 3.5]),
    "inv_chi_square": ("lpdf", [0.7, 3.5]),
    "scaled_inv_chi_square": ("lpdf", [0.7, 3.5, 1.7]),
    "exponential": ("lpdf", [0.7, 1.7]),
    "gamma": ("lpdf", [0.7, 3.5, 1.7]),
    "inv_gamma": ("lpdf", [0.7, 3.5, 1.7]),
    "weibull": ("lpdf", [0.7, 3.5, 1.7]),
    "frechet": ("lpdf", [0.7, 3.5, 1.7]),
    "rayleigh": ("lpdf", [0.7, 1.7]),
    "loglogistic": ("lpdf", [0.7, 3.5, 1.7]),
    "pareto": ("lpdf", [2.7, 0.9, 1.7]),
    "pareto_type_2": ("lpdf", [2.7, 0.9, 1.7, 0.8]),
    "beta": ("lpdf", [0.7, 3.5, 1.7]),
    "beta_proportion": ("lpdf", [0.7, 0.4, 1.7]),
    "von_mises": ("lpdf", [0.7, 0.4, 1.7]),
    "uniform": ("lpdf", [0.7, -0.4, 1.7]),
    "bernoulli": ("lpmf", [("i", 1), 0.3]),
    "bernoulli_logit": ("lpmf", [("i", 1), 0.3]),
    "binomial": ("lpmf", [("i", 3), ("i", 7), 0.3]),
    "binomial_logit": ("lpmf", [("i", 3), ("i", 7), 0.3]),
    "beta_binomial": ("lpmf", [("i", 3), ("i", 7), 1.3, 2.6]),
    "poisson": ("lpmf", [("i", 3), 1.3]),
    "poisson_log": ("lpmf", [("i", 3), 1.3]),
    "neg_binomial": ("lpmf", [("i", 3), 1.3, 0.8]),
    "neg_binomial_2": ("lpmf", [("i", 3), 1.3, 0.8]),
    "neg_binomial_2_log": ("lpmf", [("i", 3), 1.3, 0.8]),
    "categorical": ("lpmf", [("i", 2), ("v", [0.2, 0.5, 0.3])]),
    "categorical_logit": ("lpmf", [("i", 2), ("v", [0.2, 0.5, -0.3])]),
    "ordered_logistic": ("lpmf", [("i", 2), 0.4, ("v", [-0.2, 0.5, 1.3])]),
    "ordered_probit": ("lpmf", [("i", 2), 0.4, ("v", [-0.2, 0.5, 1.3])]),
    "multinomial": ("lpmf", [("I", [2, 1, 3]), ("v", [0.2, 0.5, 0.3])]),
    "multinomial_logit": ("lpmf", [("I", [2, 1, 3]), ("v", [0.2, 0.5, -0.3])]),
    "dirichlet_multinomial": ("lpmf", [("I", [2, 1, 3]), ("v", [1.2, 0.5, 2.3])]),
    "dirichlet": ("lpdf", [("v", [0.2, 0.5, 0.3]), ("v", [1.2, 0.5, 2.3])]),
    "multi_normal": ("lpdf", [("v", [0.2, 0.5]), ("v", [-0.1, 0.4]), ("m", [[1.3, 0.4], [0.4, 0.9]])]),
    "multi_normal_prec": ("lpdf", [("v", [0.2, 0.5]), ("v", [-0.1, 0.4]), ("m", [[1.3, 0.4], [0.4, 0.9]])]),
    "multi_normal_cholesky": ("lpdf", [("v", [0.2, 0.5]), ("v", [-0.1, 0.4]), ("m", [[1.3, 0.0], [0.4, 0.9]])]),
    "multi_student_t": ("lpdf", [("v", [0.2, 0.5]), 3.5, ("v", [-0.1, 0.4]), ("m", [[1.3, 0.4], [0.4, 0.9]])]),
    "multi_student_t_cholesky": ("lpdf", [("v", [0.2, 0.5]), 3.5, ("v", [-0.1, 0.4]), ("m", [[1.3, 0.0], [0.4, 0.9]])]),
    "multi_gp": ("lpdf", [("m", [[0.2, 0.5, 0.1], [0.3, -0.4, 0.6]]), ("m", [[1.3, 0.4, 0.1], [0.4, 0.9, 0.2], [0.1, 0.2, 1.1]]), ("v", [0.7, 1.4])]),
    "multi_gp_cholesky": ("lpdf", [("m", [[0.2, 0.5, 0.1], [0.3, -0.4, 0.6]]), ("m", [[1.3, 0, 0], [0.4, 0.9, 0], [0.1, 0.2, 1.1]]), ("v", [0.7, 1.4])]),
    "lkj_corr": ("lpdf", [("m", [[1, 0.4], [0.4, 1]]), 1.7]),
    "lkj_corr_cholesky": ("lpdf", [("m", [[1, 0], [0.6, 0.8]]), 1.7]),
    "wishart": ("lpdf", [("m", [[1.1, 0.2], [0.2, 0.7]]), 3.5, ("m", [[1.3, 0.4], [0.4, 0.9]])]),
    "wishart_cholesky": ("lpdf", [("m", [[1.1, 0], [0.2, 0.7]]), 3.5, ("m", [[1.3, 0], [0.4, 0.9]])]),
    "inv_wishart": ("lpdf", [("m", [[1.1, 0.2], [0.2, 0.7]]), 3.5, ("m", [[1.3, 0.4], [0.4, 0.9]])]),
    "inv_wishart_cholesky": ("lpdf", [("m", [[1.1, 0], [0.2, 0.7]]), 3.5, ("m", [[1.3, 0], [0.4, 0.9]])]),
    "wiener": ("lpdf", [0.7, 1.4, 0.2, 0.4, 0.6]),
    "normal_id_glm": ("lpdf", [("v", [0.7, -1.1]), ("m", [[0.3, -0.8, 1.2], [0.5, 0.1, -0.7]]), 0.4, ("v", [0.6, -0.2, 0.9]), 1.7]),
    "bernoulli_logit_glm": ("lpmf", [("I", [1, 0]), ("m", [[0.3, -0.8, 1.2], [0.5, 0.1, -0.7]]), 0.4, ("v", [0.6, -0.2, 0.9])]),
    "binomial_logit_glm": ("lpmf", [("I", [3, 1]), ("I", [7, 4]), ("m", [[0.3, -0.8, 1.2], [0.5, 0.1, -0.7]]), 0.4, ("v", [0.6, -0.2, 0.9])]),
    "poisson_log_glm": ("lpmf", [("I", [3, 0]), ("m", [[0.3, -0.8, 1.2], [0.5, 0.1, -0.7]]), 0.4, ("v", [0.6, -0.2, 0.9])]),
    "neg_binomial_2_log_glm": ("lpmf", [("I", [3, 0]), ("m", [[0.3, -0.8, 1.2], [0.5, 0.1, -0.7]]), 0.4, ("v", [0.6, -0.2, 0.9]), 1.7]),
    "categorical_logit_glm": ("lpmf", [("I", [3, 1]), ("m", [[0.3, -0.8], [0.5, 0.1]]), ("v", [0.6, -0.2, 0.9]), ("m", [[0.4, -0.3, 0.8], [0.2, 0.7, -0.9]])]),
    "ordered_logistic_glm": ("lpmf", [("I", [3, 1]), ("m", [[0.3, -0.8], [0.5, 0.1]]), ("v", [0.6, -0.2]), ("v", [-0.2, 0.5, 1.3])]),
    "lkj_cov": ("lpdf", [("m", [[1.3, 0.4], [0.4, 0.9]]), ("v", [0.2, -0.1]), ("v", [0.7, 1.2]), 1.7]),
    "gaussian_dlm_obs": ("lpdf", [("m", [[0.2, 0.5, 0.1]]), ("m", [[1.0], [0.3]]), ("m", [[0.9, 0.1], [0.0, 0.8]]), ("m", [[0.7]]), ("m", [[0.5, 0.1], [0.1, 0.4]]), ("v", [0.1, -0.2]), ("m", [[1.2, 0.3], [0.3, 0.9]])]),
}

def typed(arg):
    return arg if isinstance(arg, tuple) else ("r", arg)

def cpp(kind, value, scalar):
    if kind == "i":
        return f"{value}"
    if kind == "I":
        return "std::vector<int>{" + ", ".join(map(str, value)) + "}"
    if kind == "r":
        return f"{scalar}({value})"
    if kind == "v":
        return f"vec<{scalar}>({{" + ", ".join(map(str, value)) + "})"
    rows, cols = len(value), len(value[0])
    return f"mat<{scalar}>({rows}, {cols}, {{" + ", ".join(str(x) for row in value for x in row) + "})"

def program():
    lines = ["#include <stan/math.hpp>", "#include <cstdio>", "using stan::math::var;",
      "template <class T> Eigen::Matrix<T, -1, 1> vec(std::vector<double> x) { Eigen::Matrix<T, -1, 1> v(x.size()); for (size_t k = 0; k < x.size(); ++k) v[k] = x[k]; return v; }",
      "template <class T> Eigen::Matrix<T, -1, -1> mat(int r, int c, std::vector<double> x) { Eigen::Matrix<T, -1, -1> m(r, c); for (int i = 0; i < r; ++i) for (int j = 0; j < c; ++j) m(i, j) = x[i * c + j]; return m; }",
      "template <class F> void show(const char* what, F f) { try { std::printf(\"%s %.17g\\n\", what, stan::math::value_of(f())); } catch (const std::exception& e) { std::printf(\"# %s %s\\n\", what, e.what()); } }"]
    calls = []
    for name, (suffix, args) in DENSITIES.items():
        args = [typed(a) for a in args]
        real = [k for k, (kind, _) in enumerate(args) if kind not in "iI"]
        for choice in itertools.product("dp", repeat=len(real)):
            if "p" not in choice:
                continue
            # Of seven arguments, one or all but one or all.
            if len(real) > 5 and len(real) - 1 > choice.count("p") > 1:
                continue
            pattern = "".join(choice[real.index(k)] if k in real else "i" for k in range(len(args)))
            given = [cpp(kind, value, "var" if pattern[k] == "p" else "double") for k, (kind, value) in enumerate(args)]
            # `lkj_corr` and others fix the type of the outcome's scalar only.
            calls.append(f'show("{name}_{suffix} {pattern}", [] {{ return stan::math::{name}_{suffix}<true>({", ".join(given)}); }});')
    for k in range(0, len(calls), 20):
        lines.append(f"void part{k}() {{\n  " + "\n  ".join(calls[k:k + 20]) + "\n}")
    lines.append("int main() { " + " ".join(f"part{k}();" for k in range(0, len(calls), 20)) + " }")
    return "\n".join(lines)

if __name__ == "__main__":
    include = sys.argv[1]
    with open("propto.cpp", "w") as file:
        file.write(program())
    flags = ["-std=c++17", "-O0", "-w", "-D_REENTRANT", "-DBOOST_DISABLE_ASSERTS"]
    flags += [f"-I{include}"]
    subprocess.run(["g++", *flags, "propto.cpp", "-o", "propto"] + sys.argv[2:], check=True)
    print(subprocess.run(["./propto"], check=True, capture_output=True, text=True).stdout, end="")
