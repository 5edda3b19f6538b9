/*
 * The arithmetic of a lease on several independent servers (Redlock): votes,
 * what they decide, how long it holds, and when to ask again.
 */

#ifndef SBX_LEASE_TALLY_H_INCLUDED
#define SBX_LEASE_TALLY_H_INCLUDED

#include "../base/sbx_base.h"


#define SBX_LEASE_SERVERS_MAX  9
#define SBX_LEASE_NEVER        UINT64_MAX


typedef enum {
    SBX_LEASE_PENDING = 0,
    SBX_LEASE_WON,              /* a majority said yes */
    SBX_LEASE_REFUSED,          /* so many said no that no majority can say yes */
    SBX_LEASE_FAILED            /* so many said no or nothing that no majority can say yes */
} sbx_lease_decision_e;


typedef struct {
    unsigned    servers;
    unsigned    yes;
    unsigned    no;
    unsigned    failed;
    unsigned    agreed;         /* how many of those who said yes said `number` */
    uint64_t    number;         /* the highest fencing number that was given */
    uint64_t    left[SBX_LEASE_SERVERS_MAX];    /* of those who said no: when they may say yes; ascending */
} sbx_lease_tally_t;


/* servers: 1 to SBX_LEASE_SERVERS_MAX. */
void sbx_lease_tally_init(sbx_lease_tally_t *tally, unsigned servers);
void sbx_lease_tally_yes(sbx_lease_tally_t *tally, uint64_t number);
void sbx_lease_tally_no(sbx_lease_tally_t *tally, uint64_t left);
void sbx_lease_tally_failed(sbx_lease_tally_t *tally);

sbx_lease_decision_e sbx_lease_tally_decision(const sbx_lease_tally_t *tally);

/*
 * Whether a majority keeps `number`: then every later majority contains a
 * server that gives a higher one.
 */
bool sbx_lease_tally_numbered(const sbx_lease_tally_t *tally);

/* When a majority may say yes: 0 now, SBX_LEASE_NEVER when it depends on servers that said nothing. */
uint64_t sbx_lease_tally_left(const sbx_lease_tally_t *tally);

/*
 * What is left of a time to live `elapsed` after the servers were asked, 0
 * when nothing is: two units and a hundredth of it are kept back, since clocks
 * do not run at the same pace.
 */
uint64_t sbx_lease_validity(uint64_t ttl, uint64_t elapsed);


#endif /* SBX_LEASE_TALLY_H_INCLUDED */
