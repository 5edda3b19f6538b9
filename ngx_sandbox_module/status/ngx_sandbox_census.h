/* At the start: runs of sandboxes that are not configured any more. */

#ifndef _NGX_SANDBOX_CENSUS_H_INCLUDED_
#define _NGX_SANDBOX_CENSUS_H_INCLUDED_

#include "ngx_sandbox.h"


/* Looks once, as soon as Redis answers, and warns of each such sandbox with the number of its runs. */
void ngx_sandbox_census(ngx_sandbox_worker_t *worker);


#endif /* _NGX_SANDBOX_CENSUS_H_INCLUDED_ */
