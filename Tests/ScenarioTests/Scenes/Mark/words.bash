# They run a moment after `up` has ended, and what has ended is listed until the first process of the lab has taken note of it.
# shellcheck shell=bash disable=SC2154,SC2034

both_run() { [[ $(pgrep -c 'sleep') == 2 ]]; }
gone() { ! pgrep sleep >/dev/null; }
