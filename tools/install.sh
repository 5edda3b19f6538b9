# Read by run.sh and test.sh: installs what is missing, through the
# distribution's package manager, without starting the packages' services.
#
#     install_packages run        what it takes to build and run the demo
#     install_packages test       and the tests
#     install_npm                 what t/e2e needs, into t/e2e/node_modules
#
# Works as root and with sudo; otherwise it says what to install by hand.

packages_run='make gcc libc6-dev nginx nginx-dev libhiredis-dev libyajl-dev
              libssl-dev redis-server bubblewrap procps curl'
packages_test='perl libtest-base-perl libcmocka-dev redis-tools git
               bubblewrap valgrind chromium openssl iproute2'
packages_lint='clang-tidy'


say()
{
    printf '%s\n' "$*" >&2
}


die()
{
    say "$*"
    exit 1
}


missing_packages()
{
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q ' installed$' \
            || printf '%s ' "$package"
    done
}


install_packages()
{
    wanted=
    case $1 in
        run)  wanted=$packages_run ;;
        test) wanted="$packages_run $packages_test" ;;
        lint) wanted=$packages_lint ;;
        *)    wanted=$* ;;
    esac

    if ! command -v dpkg-query > /dev/null; then
        say "This is no Debian: these packages, or what they are called here, must be installed:"
        say $wanted
        return 0
    fi

    missing=$(missing_packages $wanted)

    if [ -z "$missing" ]; then
        return 0
    fi

    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo > /dev/null || ! sudo -n true 2> /dev/null; then
            die "These packages are missing: ${missing}
Install them as root:  apt-get install --no-install-recommends ${missing}"
        fi
        as_root=sudo
    fi

    say "installing: $missing"

    # in a shell of its own, which leaves the caller's traps alone

    (without_services apt_install $missing) || die "apt-get could not install: $missing"
}


apt_install()
{
    log=$(mktemp)

    if ! $as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -q -y --no-install-recommends "$@" > "$log" 2>&1
    then
        # the lists may be old, or never have been fetched

        $as_root apt-get update -q > /dev/null \
        && $as_root env DEBIAN_FRONTEND=noninteractive \
               apt-get install -q -y --no-install-recommends "$@" > "$log" 2>&1 \
        || { tail -n 20 "$log" >&2; rm -f "$log"; return 1; }
    fi

    rm -f "$log"
}


# Debian's packages ask policy-rc.d whether they may start what they install.
# Services that were not there before are not left to start at boot either.

without_services()
{
    policy=/usr/sbin/policy-rc.d
    saved=

    if [ -e $policy ] || [ -L $policy ]; then
        saved=$policy.saved.$$
        $as_root mv $policy $saved
    fi

    printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy > /dev/null
    $as_root chmod 755 $policy

    trap 'restore_policy; exit 1' HUP INT TERM

    had_nginx=$(missing_packages nginx)
    had_redis=$(missing_packages redis-server)

    status=0
    "$@" || status=$?

    if command -v systemctl > /dev/null; then
        [ -z "$had_nginx" ] || $as_root systemctl disable nginx > /dev/null 2>&1 || :
        [ -z "$had_redis" ] || $as_root systemctl disable redis-server > /dev/null 2>&1 || :
    fi

    restore_policy

    return $status
}


restore_policy()
{
    $as_root rm -f $policy
    [ -z "$saved" ] || $as_root mv $saved $policy
}


# Node itself comes pinned from npm (t/e2e/package.json); any npm will do to get it

install_npm()
{
    if ! command -v npm > /dev/null; then
        install_packages nodejs npm
    fi

    if cmp -s t/e2e/package-lock.json t/e2e/node_modules/.installed; then
        return 0
    fi

    say "installing the packages of t/e2e"

    (cd t/e2e && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2) \
    && cp t/e2e/package-lock.json t/e2e/node_modules/.installed \
    || die "npm could not install the packages of t/e2e"
}
