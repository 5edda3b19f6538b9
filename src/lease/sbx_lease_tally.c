/* Counting votes.  Even numbers of servers need more than half, too. */

#include "sbx_lease_tally.h"


static unsigned sbx_lease_quorum(const sbx_lease_tally_t *tally);


void
sbx_lease_tally_init(sbx_lease_tally_t *tally, unsigned servers)
{
    memset(tally, 0, sizeof(sbx_lease_tally_t));
    tally->servers = servers;
}


void
sbx_lease_tally_yes(sbx_lease_tally_t *tally, uint64_t number)
{
    tally->yes++;

    if (number > tally->number) {
        tally->number = number;
        tally->agreed = 0;
    }

    if (number == tally->number) {
        tally->agreed++;
    }
}


void
sbx_lease_tally_no(sbx_lease_tally_t *tally, uint64_t left)
{
    unsigned  i;

    for (i = tally->no; i > 0 && tally->left[i - 1] > left; i--) {
        tally->left[i] = tally->left[i - 1];
    }

    tally->left[i] = left;
    tally->no++;
}


void
sbx_lease_tally_failed(sbx_lease_tally_t *tally)
{
    tally->failed++;
}


sbx_lease_decision_e
sbx_lease_tally_decision(const sbx_lease_tally_t *tally)
{
    unsigned  quorum;

    quorum = sbx_lease_quorum(tally);

    if (tally->yes >= quorum) {
        return SBX_LEASE_WON;
    }

    if (tally->no > tally->servers - quorum) {
        return SBX_LEASE_REFUSED;
    }

    if (tally->no + tally->failed > tally->servers - quorum) {
        return SBX_LEASE_FAILED;
    }

    return SBX_LEASE_PENDING;
}


bool
sbx_lease_tally_numbered(const sbx_lease_tally_t *tally)
{
    return tally->agreed >= sbx_lease_quorum(tally);
}


uint64_t
sbx_lease_tally_left(const sbx_lease_tally_t *tally)
{
    unsigned  quorum, free;

    quorum = sbx_lease_quorum(tally);
    free = tally->servers - tally->no - tally->failed;

    if (free >= quorum) {
        return 0;
    }

    if (free + tally->no < quorum) {
        return SBX_LEASE_NEVER;
    }

    return tally->left[quorum - free - 1];
}


uint64_t
sbx_lease_validity(uint64_t ttl, uint64_t elapsed)
{
    uint64_t  drift;

    drift = ttl / 100 + 2;

    if (ttl <= drift || ttl - drift <= elapsed) {
        return 0;
    }

    return ttl - drift - elapsed;
}


static unsigned
sbx_lease_quorum(const sbx_lease_tally_t *tally)
{
    return tally->servers / 2 + 1;
}
