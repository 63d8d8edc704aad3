# shellcheck shell=bash disable=SC2154,SC2034

witness_names
start_stranger
start_sniffing
go cafe
