/* A Stan program with its data, as functions of numbers: the interface of BridgeStan 2.9.

   A model library holds one program. All functions may be called from several threads at once on
   the same model; a `bs_rng` gives each call that uses it numbers of its own.

   Order: the unconstrained parameters lie in the order of their declarations, arrays with the first
   index running fastest, as in Stan. Names have their indices behind points: `theta.1.2`.

   Errors: a function that returns `int` returns 0, or -1 when something went wrong; one that returns
   a pointer returns NULL then. If `error_msg` is not NULL, `*error_msg` is then a text that says
   what and where, to be handed to `bs_free_error_msg`. */
#ifndef BRIDGESTAN_H
#define BRIDGESTAN_H

#ifdef __cplusplus
#include <cstddef>
class bs_model;
class bs_rng;
extern "C" {
#else
#include <stdbool.h>
#include <stddef.h>
typedef struct bs_model bs_model;
typedef struct bs_rng bs_rng;
#endif

#define BS_PUBLIC __attribute__((visibility("default")))

/* The version of the interface. */
BS_PUBLIC extern const int bs_major_version;
BS_PUBLIC extern const int bs_minor_version;
BS_PUBLIC extern const int bs_patch_version;

/* The program with data: JSON text, or the path of a file whose name ends in ".json"; NULL or ""
   for none. `seed` is that of random numbers in transformed data. */
BS_PUBLIC bs_model* bs_model_construct(const char* data, unsigned int seed, char** error_msg);
BS_PUBLIC void bs_model_destruct(bs_model* m);

BS_PUBLIC void bs_free_error_msg(char* error_msg);

/* Texts that live as long as the model; names stand between commas. */
BS_PUBLIC const char* bs_name(const bs_model* m);
BS_PUBLIC const char* bs_model_info(const bs_model* m);
BS_PUBLIC const char* bs_param_names(const bs_model* m, bool include_tp, bool include_gq);
BS_PUBLIC const char* bs_param_unc_names(const bs_model* m);

/* Numbers of constrained and of unconstrained values. */
BS_PUBLIC int bs_param_num(const bs_model* m, bool include_tp, bool include_gq);
BS_PUBLIC int bs_param_unc_num(const bs_model* m);

/* Unconstrained parameters -> parameters, transformed parameters, generated quantities. `rng` may be
   NULL where `include_gq` is false. */
BS_PUBLIC int bs_param_constrain(const bs_model* m, bool include_tp, bool include_gq,
                                 const double* theta_unc, double* theta, bs_rng* rng,
                                 char** error_msg);

/* The other way round, from numbers and from JSON. */
BS_PUBLIC int bs_param_unconstrain(const bs_model* m, const double* theta, double* theta_unc,
                                   char** error_msg);
BS_PUBLIC int bs_param_unconstrain_json(const bs_model* m, const char* json, double* theta_unc,
                                        char** error_msg);

/* A point with a finite density. Parameters that `json` (which may be NULL) does not give are
   uniform between -init_radius and init_radius on the unconstrained scale; at most `max_tries`
   points are tried. */
BS_PUBLIC int bs_param_initialize(const bs_model* m, const char* json, bs_rng* rng,
                                  double init_radius, int max_tries, bool jacobian,
                                  double* theta_unc, char** error_msg);

/* The log density, with its gradient, and its Hessian or the Hessian's product with a vector.
   `propto` leaves out the constants that Stan leaves out, `jacobian` adds the log Jacobians of the
   parameters' transforms. Gradients are exact derivatives; Hessians are central differences of
   gradients with an error of about 1e-10. */
BS_PUBLIC int bs_log_density(const bs_model* m, bool propto, bool jacobian,
                             const double* theta_unc, double* lp, char** error_msg);
BS_PUBLIC int bs_log_density_gradient(const bs_model* m, bool propto, bool jacobian,
                                      const double* theta_unc, double* val, double* grad,
                                      char** error_msg);
BS_PUBLIC int bs_log_density_hessian(const bs_model* m, bool propto, bool jacobian,
                                     const double* theta_unc, double* val, double* grad,
                                     double* hessian, char** error_msg);
BS_PUBLIC int bs_log_density_hessian_vector_product(const bs_model* m, bool propto, bool jacobian,
                                                    const double* theta_unc, const double* vector,
                                                    double* val, double* hvp, char** error_msg);

/* A stream of random numbers for generated quantities. */
BS_PUBLIC bs_rng* bs_rng_construct(unsigned int seed, char** error_msg);
BS_PUBLIC void bs_rng_destruct(bs_rng* rng);

/* Who takes what `print` writes: two calls a line, its text and its end; one call at a time. NULL:
   standard output, as at the start. The function must not call `bs_set_print_callback`. */
typedef void (*STREAM_CALLBACK)(const char* data, size_t size);
BS_PUBLIC int bs_set_print_callback(STREAM_CALLBACK callback, char** error_msg);

#ifdef __cplusplus
}
#endif

#endif
