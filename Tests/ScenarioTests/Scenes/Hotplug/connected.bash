# shellcheck shell=bash disable=SC2154,SC2034

go cafe
start_agent
tunnel_is corp connected
sleep 1.2
index=$(link_index corp)
states() { grep ' tunnel ' agent.log | grep -o 'from=[a-z]* to=[a-z]*'; }
