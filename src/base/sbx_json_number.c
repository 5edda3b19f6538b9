/*
 * Numbers as JavaScript reads and prints them.
 *
 * strtod() and printf() do the hard cases.  Both know locales, so neither
 * ever sees or decides about a decimal point: numbers pass as digits and
 * exponent.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sbx_json_internal.h"


#define SBX_EXACT_TEXT      24      /* longer numbers are not worth a try */
#define SBX_EXACT_DIGITS    15      /* every decimal of so many digits has a double of its own */
#define SBX_EXACT_POWER     22      /* the highest power of ten that is a double */
#define SBX_EXACT_INTEGER   9007199254740992.0
#define SBX_EXPONENT_MAX    1000000000000000
#define SBX_NUMBER_BUF      512


typedef struct {
    char    digits[SBX_NUMBER_DIGITS + 1];
    int     ndigits;
    int     point;
} sbx_decimal_t;


static double sbx_number_exact(const char *text, size_t len, bool *exact);
static uint64_t sbx_number_digits(const char **p, const char *end, uint64_t mantissa);
static int sbx_number_exponent(const char *p, const char *end);
static double sbx_number_strtod(const char *text, size_t len, char *buf);
static bool sbx_decimal_short(sbx_decimal_t *d, double n);
static void sbx_decimal_shortest(sbx_decimal_t *d, double n);
static bool sbx_decimal_try(sbx_decimal_t *d, double n, int ndigits);
static bool sbx_decimal_next(sbx_decimal_t *d);
static double sbx_decimal_value(const sbx_decimal_t *d);
static void sbx_decimal_strip(sbx_decimal_t *d);
static size_t sbx_decimal_print(char *text, const sbx_decimal_t *d);
static size_t sbx_exponent_print(char *text, int exponent);


static const double  sbx_powers[] = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22
};


double
sbx_json_number_parse(const sbx_mem_t *mem, const char *text, size_t len)
{
    bool     exact;
    char    *heap, buf[SBX_NUMBER_BUF];
    double   n;

    n = sbx_number_exact(text, len, &exact);
    if (exact) {
        return n;
    }

    /* The exponent may grow by its own digits, a sign and a NUL. */

    if (len <= SBX_NUMBER_BUF - 32) {
        return sbx_number_strtod(text, len, buf);
    }

    if (len > PTRDIFF_MAX - 32) {
        return NAN;
    }

    heap = mem->alloc(mem->ctx, len + 32);
    if (heap == NULL) {
        return NAN;
    }

    n = sbx_number_strtod(text, len, heap);

    mem->free(mem->ctx, heap);

    return n;
}


size_t
sbx_json_number_format(char text[SBX_NUMBER_MAX], double n)
{
    char           *p, *end, digits[SBX_NUMBER_MAX];
    size_t          sign;
    uint64_t        value;
    sbx_decimal_t   d;

    static const char  null_text[4] = { 'n', 'u', 'l', 'l' };

    if (!isfinite(n)) {
        memcpy(text, null_text, sizeof(null_text));
        return sizeof(null_text);
    }

    sign = 0;

    if (n < 0) {
        text[sign++] = '-';
        n = -n;
    }

    if (n < SBX_EXACT_INTEGER && n == (double) (uint64_t) n) {
        value = (uint64_t) n;
        end = digits + SBX_NUMBER_MAX;
        p = end;

        do {
            *--p = (char) ('0' + value % 10);
            value /= 10;
        } while (value != 0);

        memcpy(text + sign, p, (size_t) (end - p));
        return sign + (size_t) (end - p);
    }

    if (!sbx_decimal_short(&d, n)) {
        sbx_decimal_shortest(&d, n);
    }

    return sign + sbx_decimal_print(text + sign, &d);
}


/*
 * A mantissa below 2^53 and a power of ten that is a double: one operation,
 * rounded once, gives the right answer.
 */

static double
sbx_number_exact(const char *text, size_t len, bool *exact)
{
    int          power;
    bool         negative;
    double       n;
    uint64_t     mantissa;
    const char  *p, *end;

    *exact = false;

    if (len > SBX_EXACT_TEXT) {
        return 0;
    }

    p = text;
    end = text + len;
    power = 0;

    negative = p < end && *p == '-';
    p += negative;

    mantissa = sbx_number_digits(&p, end, 0);

    if (p < end && *p == '.') {
        text = ++p;
        mantissa = sbx_number_digits(&p, end, mantissa);
        power = (int) (text - p);
    }

    power += sbx_number_exponent(p, end);

    if (mantissa > (uint64_t) 1 << 53 || power < -SBX_EXACT_POWER
        || power > SBX_EXACT_POWER)
    {
        return 0;
    }

    n = (double) mantissa;
    n = power < 0 ? n / sbx_powers[-power] : n * sbx_powers[power];

    *exact = true;

    return negative ? -n : n;
}


/* Goes on from `mantissa`; UINT64_MAX when that is too much. */

static uint64_t
sbx_number_digits(const char **p, const char *end, uint64_t mantissa)
{
    for ( /* void */ ; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
        mantissa = mantissa <= (uint64_t) 1 << 53
                   ? mantissa * 10 + (uint64_t) (**p - '0') : UINT64_MAX;
    }

    return mantissa;
}


/* What follows the mantissa: nothing, or "e" and a number.  Large ones are only told to be large. */

static int
sbx_number_exponent(const char *p, const char *end)
{
    int   exponent;
    bool  minus;

    if (p == end) {
        return 0;
    }

    p++;
    minus = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');

    for (exponent = 0; p < end && exponent < 1000; p++) {
        exponent = exponent * 10 + (*p - '0');
    }

    return minus ? -exponent : exponent;
}


/* buf has room for the text and 32 bytes more. */

static double
sbx_number_strtod(const char *text, size_t len, char *buf)
{
    char        *out;
    bool         minus, point;
    int64_t      exponent, power;
    const char  *p, *end;

    out = buf;
    end = text + len;
    power = 0;
    exponent = 0;
    point = false;

    for (p = text; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            point = true;
            continue;
        }

        *out++ = *p;
        power -= point;
    }

    if (p < end) {
        p++;
        minus = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');

        for ( /* void */ ; p < end; p++) {
            if (exponent < SBX_EXPONENT_MAX) {
                exponent = exponent * 10 + (*p - '0');
            }
        }

        power += minus ? -exponent : exponent;
    }

    snprintf(out, 32, "e%lld", (long long) power);

    return strtod(buf, NULL);
}


/*
 * Prices, seconds and shares: at most 15 digits, few of them decimals.  A
 * decimal of so many digits that gives the double is the shortest one.
 */

static bool
sbx_decimal_short(sbx_decimal_t *d, double n)
{
    int       power, i;
    char      digits[SBX_EXACT_DIGITS + 1];
    double    scaled;
    uint64_t  mantissa;

    for (power = 1; power <= SBX_EXACT_POWER; power++) {
        scaled = n * sbx_powers[power];

        if (scaled >= 1e15) {
            return false;
        }

        mantissa = (uint64_t) (scaled + 0.5);

        if (mantissa != 0 && (double) mantissa / sbx_powers[power] == n) {
            break;
        }
    }

    if (power > SBX_EXACT_POWER || mantissa >= 1000000000000000) {
        return false;
    }

    for (i = SBX_EXACT_DIGITS; mantissa != 0; mantissa /= 10) {
        digits[--i] = (char) ('0' + mantissa % 10);
    }

    d->ndigits = SBX_EXACT_DIGITS - i;
    d->point = d->ndigits - power;
    memcpy(d->digits, digits + i, (size_t) d->ndigits);

    sbx_decimal_strip(d);

    return true;
}


static void
sbx_decimal_shortest(sbx_decimal_t *d, double n)
{
    int  ndigits, exponent;

    /* Below the normal range even one digit may be enough. */

    ndigits = fpclassify(n) == FP_SUBNORMAL ? 1 : SBX_EXACT_DIGITS;

    for ( /* void */ ; ndigits < SBX_NUMBER_DIGITS; ndigits++) {

        if (sbx_decimal_try(d, n, ndigits)) {
            break;
        }

        /*
         * Above a power of two doubles lie twice as far apart as below it:
         * the closest decimal may be too far below, while the next one up
         * still is this double.
         */

        if (frexp(n, &exponent) == 0.5 && sbx_decimal_next(d)
            && sbx_decimal_value(d) == n)
        {
            break;
        }
    }

    if (ndigits == SBX_NUMBER_DIGITS) {
        (void) sbx_decimal_try(d, n, ndigits);
    }

    sbx_decimal_strip(d);
}


static bool
sbx_decimal_try(sbx_decimal_t *d, double n, int ndigits)
{
    int          i;
    char         text[48];
    const char  *p;

    snprintf(text, sizeof(text), "%.*e", ndigits - 1, n);

    /* The decimal point, however it is written here, is not a digit. */

    for (p = text, i = 0; *p != 'e' && i < ndigits; p++) {
        if (*p >= '0' && *p <= '9') {
            d->digits[i++] = *p;
        }
    }

    while (*p != 'e') {
        p++;
    }

    d->ndigits = i;
    d->point = atoi(p + 1) + 1;

    return sbx_decimal_value(d) == n;
}


/* One unit of the last digit more; false when all digits are nines. */

static bool
sbx_decimal_next(sbx_decimal_t *d)
{
    int  i;

    for (i = d->ndigits - 1; i >= 0; i--) {
        if (d->digits[i] != '9') {
            d->digits[i]++;
            return true;
        }

        d->digits[i] = '0';
    }

    return false;
}


static double
sbx_decimal_value(const sbx_decimal_t *d)
{
    char  text[48];

    snprintf(text, sizeof(text), "%.*se%d", d->ndigits, d->digits,
             d->point - d->ndigits);

    return strtod(text, NULL);
}


static void
sbx_decimal_strip(sbx_decimal_t *d)
{
    while (d->ndigits > 1 && d->digits[d->ndigits - 1] == '0') {
        d->ndigits--;
    }
}


/* Number::toString of ECMAScript, from step 6 on. */

static size_t
sbx_decimal_print(char *text, const sbx_decimal_t *d)
{
    char    *p;
    size_t   n;

    p = text;
    n = (size_t) d->ndigits;

    if (d->point >= d->ndigits && d->point <= 21) {
        memcpy(p, d->digits, n);
        memset(p + n, '0', (size_t) (d->point - d->ndigits));
        return (size_t) d->point;
    }

    if (d->point > 0 && d->point <= 21) {
        memcpy(p, d->digits, (size_t) d->point);
        p[d->point] = '.';
        memcpy(p + d->point + 1, d->digits + d->point, n - (size_t) d->point);
        return n + 1;
    }

    if (d->point > -6 && d->point <= 0) {
        p[0] = '0';
        p[1] = '.';
        memset(p + 2, '0', (size_t) -d->point);
        memcpy(p + 2 - d->point, d->digits, n);
        return 2 + (size_t) -d->point + n;
    }

    *p++ = d->digits[0];

    if (n > 1) {
        *p++ = '.';
        memcpy(p, d->digits + 1, n - 1);
        p += n - 1;
    }

    p += sbx_exponent_print(p, d->point - 1);

    return (size_t) (p - text);
}


static size_t
sbx_exponent_print(char *text, int exponent)
{
    char      *p;
    unsigned   value;

    p = text;
    value = (unsigned) (exponent < 0 ? -exponent : exponent);

    *p++ = 'e';
    *p++ = exponent < 0 ? '-' : '+';

    if (value >= 100) {
        *p++ = (char) ('0' + value / 100);
    }

    if (value >= 10) {
        *p++ = (char) ('0' + value / 10 % 10);
    }

    *p++ = (char) ('0' + value % 10);

    return (size_t) (p - text);
}
