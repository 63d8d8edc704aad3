# Words for scenes about an armed tunnel: counts what goes to WireGuard's port at the routers of café and mobile.
# shellcheck shell=bash disable=SC2154

count_datagrams() {
  for place in cafe mobile; do
    on $place nft 'table inet armed; delete table inet armed
      table inet armed { chain c { type filter hook prerouting priority -300; udp dport 51820 counter; }; }'
  done
}
datagrams() { for place in cafe mobile; do on $place nft list table inet armed; done | grep -o 'packets [0-9]*' | awk '{ n += $2 } END { print n }'; }
declare -A link=([cafe]=wlan0 [mobile]=wwan0 [nothing]=null)
network_link_is() { [[ $(roamward status --json | jq -r .primary.link) == "$1" ]]; }
asks() { on laptop busybox nslookup intranet.corp.example 10.77.0.1 | grep -q 'Address.*10.77.0.1$'; }
sessions() { on laptop wg show corp latest-handshakes | awk '$2 > 0' | wc -l; }
