/* Majorities of 1 to 9 servers, counted in every order; numbers; times. */

#include "../../src/lease/sbx_lease_tally.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>


/* Every sequence of answers: decided as soon as it can be, and never otherwise. */

static void
tally_decides_as_soon_as_it_can(void **state)
{
    unsigned              n, quorum, i, code, codes, yes, no, failed, answer;
    sbx_lease_tally_t     t;
    sbx_lease_decision_e  expected;

    (void) state;

    for (n = 1; n <= 7; n++) {
        quorum = n / 2 + 1;

        for (codes = 1, i = 0; i < n; i++) {
            codes *= 3;
        }

        for (code = 0; code < codes; code++) {
            sbx_lease_tally_init(&t, n);
            yes = no = failed = 0;

            for (i = 0, answer = code; i < n; i++, answer /= 3) {
                switch (answer % 3) {
                case 0:
                    sbx_lease_tally_yes(&t, 1);
                    yes++;
                    break;
                case 1:
                    sbx_lease_tally_no(&t, 10);
                    no++;
                    break;
                default:
                    sbx_lease_tally_failed(&t);
                    failed++;
                }

                expected = (yes >= quorum) ? SBX_LEASE_WON
                           : (no + quorum > n) ? SBX_LEASE_REFUSED
                           : (no + failed + quorum > n) ? SBX_LEASE_FAILED : SBX_LEASE_PENDING;

                assert_int_equal(sbx_lease_tally_decision(&t), expected);
            }

            assert_int_not_equal(sbx_lease_tally_decision(&t), SBX_LEASE_PENDING);
        }
    }
}


/* A number counts when a majority keeps it, whoever said what first. */

static void
number_needs_a_majority(void **state)
{
    sbx_lease_tally_t  t;

    (void) state;

    sbx_lease_tally_init(&t, 1);
    assert_false(sbx_lease_tally_numbered(&t));
    sbx_lease_tally_yes(&t, 7);
    assert_true(sbx_lease_tally_numbered(&t));

    sbx_lease_tally_init(&t, 5);
    sbx_lease_tally_yes(&t, 7);
    sbx_lease_tally_yes(&t, 9);
    sbx_lease_tally_yes(&t, 7);
    assert_int_equal(sbx_lease_tally_decision(&t), SBX_LEASE_WON);
    assert_int_equal(t.number, 9);
    assert_false(sbx_lease_tally_numbered(&t));
    sbx_lease_tally_yes(&t, 9);
    assert_false(sbx_lease_tally_numbered(&t));
    sbx_lease_tally_yes(&t, 9);
    assert_true(sbx_lease_tally_numbered(&t));
}


static void
left_is_when_a_majority_may_be_free(void **state)
{
    sbx_lease_tally_t  t;

    (void) state;

    sbx_lease_tally_init(&t, 1);
    assert_int_equal(sbx_lease_tally_left(&t), 0);
    sbx_lease_tally_no(&t, 80);
    assert_int_equal(sbx_lease_tally_left(&t), 80);

    sbx_lease_tally_init(&t, 1);
    sbx_lease_tally_failed(&t);
    assert_true(sbx_lease_tally_left(&t) == SBX_LEASE_NEVER);

    /* of three keys the first has to go; with a dead server all the others */

    sbx_lease_tally_init(&t, 3);
    sbx_lease_tally_no(&t, 900);
    assert_int_equal(sbx_lease_tally_left(&t), 0);
    sbx_lease_tally_no(&t, 100);
    assert_int_equal(sbx_lease_tally_left(&t), 100);
    sbx_lease_tally_no(&t, 500);
    assert_int_equal(sbx_lease_tally_left(&t), 500);

    sbx_lease_tally_init(&t, 3);
    sbx_lease_tally_no(&t, 100);
    sbx_lease_tally_failed(&t);
    sbx_lease_tally_no(&t, SBX_LEASE_NEVER);
    assert_true(sbx_lease_tally_left(&t) == SBX_LEASE_NEVER);

    sbx_lease_tally_init(&t, 3);
    sbx_lease_tally_yes(&t, 1);
    sbx_lease_tally_failed(&t);
    sbx_lease_tally_no(&t, 100);
    assert_int_equal(sbx_lease_tally_left(&t), 100);

    sbx_lease_tally_init(&t, 9);

    for (unsigned i = 0; i < 9; i++) {
        sbx_lease_tally_no(&t, 90 - i * 10);
    }

    assert_int_equal(sbx_lease_tally_left(&t), 50);
}


static void
validity_is_less_than_the_time_to_live(void **state)
{
    (void) state;

    assert_int_equal(sbx_lease_validity(10000, 0), 9898);
    assert_int_equal(sbx_lease_validity(10000, 898), 9000);
    assert_int_equal(sbx_lease_validity(10000, 9897), 1);
    assert_int_equal(sbx_lease_validity(10000, 9898), 0);
    assert_int_equal(sbx_lease_validity(10000, UINT64_MAX), 0);
    assert_int_equal(sbx_lease_validity(2, 0), 0);
    assert_int_equal(sbx_lease_validity(0, 0), 0);
    assert_true(sbx_lease_validity(UINT64_MAX, 0) < UINT64_MAX);
}


int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tally_decides_as_soon_as_it_can),
        cmocka_unit_test(number_needs_a_majority),
        cmocka_unit_test(left_is_when_a_majority_may_be_free),
        cmocka_unit_test(validity_is_less_than_the_time_to_live)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
