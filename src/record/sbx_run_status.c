
#include "sbx_record.h"


static const sbx_str_t  sbx_run_statuses[] = {
    { "", 0 },
    { "running", sizeof("running") - 1 },
    { "completed", sizeof("completed") - 1 },
    { "failed", sizeof("failed") - 1 },
    { "interrupted", sizeof("interrupted") - 1 },
    { "aborted", sizeof("aborted") - 1 }
};


sbx_run_status_e
sbx_run_status(sbx_str_t name)
{
    size_t  i;

    for (i = SBX_RUN_RUNNING; i <= SBX_RUN_ABORTED; i++) {
        if (sbx_str_eq(sbx_run_statuses[i], name)) {
            return (sbx_run_status_e) i;
        }
    }

    return SBX_RUN_UNKNOWN;
}


/* An interrupted run waits for a person; it goes on afterwards. */

bool
sbx_run_status_terminal(sbx_run_status_e status)
{
    return status == SBX_RUN_COMPLETED || status == SBX_RUN_FAILED || status == SBX_RUN_ABORTED;
}


sbx_str_t
sbx_run_status_name(sbx_run_status_e status)
{
    return sbx_run_statuses[status];
}
