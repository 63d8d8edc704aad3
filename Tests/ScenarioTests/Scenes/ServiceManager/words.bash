# A function of bash: whether the last message, without those for the watchdog, is this one.
# shellcheck shell=bash disable=SC2154,SC2034

last_word() { [[ $(grep -v '^WATCHDOG' heard | tail -n 1) == "$1" ]]; }
