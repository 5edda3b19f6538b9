/*
 * The driver: one machine per run, one claim over all its phases.
 *
 *     accepted -> ensuring -> launching -> driving -> finishing -> aftercare
 *
 * It runs in one worker, independent of every request.  Whoever takes a run
 * over continues from the phase that the record names; each step is safe to
 * repeat after a crash at any point.
 */

#ifndef _NGX_SANDBOX_DRIVER_H_INCLUDED_
#define _NGX_SANDBOX_DRIVER_H_INCLUDED_

#include "ngx_sandbox.h"
#include "sbx_record.h"


typedef struct ngx_sandbox_driver_s  ngx_sandbox_driver_t;

/* What a POST that was accepted hands over.  Copied. */
typedef struct {
    ngx_sandbox_definition_t     *definition;
    ngx_sandbox_run_ref_t         run;
    ngx_str_t                     token;         /* the claim that accepting took */
    ngx_str_t                     thread_id;
    ngx_str_t                     input;         /* what launching needs, JSON */
    ngx_msec_t                    since;         /* ngx_current_msec before the claim was asked for */
} ngx_sandbox_accepted_t;

/* NGX_ERROR: out of memory; the claim expires and somebody adopts the run. */
ngx_int_t ngx_sandbox_driver_start(ngx_sandbox_worker_t *worker, ngx_sandbox_accepted_t *accepted);

/*
 * Somebody saw that this run has no live driver: claims it in the background,
 * unless it is here already, or by its record (NULL: there is none) not ours.
 */
void ngx_sandbox_driver_adopt(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run, sbx_fields_t *record);

/* The driver of this run in this worker, or NULL. */
ngx_sandbox_driver_t *ngx_sandbox_driver_find(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run);

/* The worker was told to quit: every driver releases its claim as soon as what is under way allows. */
void ngx_sandbox_drivers_quit(ngx_sandbox_worker_t *worker);

/* The worker exits: what is left is freed, claims expire. */
void ngx_sandbox_drivers_free(ngx_sandbox_worker_t *worker);

/* Whether this worker has the run's definition and engine.  Where not, it says so once, and leaves the run alone. */
ngx_uint_t ngx_sandbox_adoption_fits(ngx_sandbox_worker_t *worker, sbx_fields_t *record);

/* The timer that looks for overdue runs; started once per worker. */
ngx_int_t ngx_sandbox_adoption_start(ngx_sandbox_worker_t *worker);


#endif /* _NGX_SANDBOX_DRIVER_H_INCLUDED_ */
