# shellcheck shell=bash disable=SC2154,SC2034

take_everything
locked() { nft list table inet roamward >/dev/null; }
