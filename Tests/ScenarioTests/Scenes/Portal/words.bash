# shellcheck shell=bash disable=SC2154,SC2034

close_portal() {
  mkdir -p portal; echo 'Please buy a coffee.' >portal/index.html
  for address in 203.0.113.80/32 2001:db8::80/128; do ip -n cafe address add $address dev lo nodad 2>/dev/null; done
  [[ -e portal.lock ]] || on cafe busybox httpd -p 203.0.113.80:80 -h "$PWD"/portal
  touch portal.lock
  for family in -4 -6; do ip -n cafe $family rule add iif lan0 pref 10 unreachable; done
}
sign_in() {
  for address in 203.0.113.80/32 2001:db8::80/128; do ip -n cafe address del $address dev lo; done
  for family in -4 -6; do ip -n cafe $family rule del pref 10; done
}
# What a tunnel and its portal could leave something in, without counts, and the address that the kernel makes up for a link.
looks() { { nft -s list ruleset; ip rule; ip -6 rule; ip route show table all; cat "$laptop"/resolv.conf; } | grep -v 'fe80::.* dev corp'; }

page() { curl --silent --max-time 2 http://203.0.113.80/ || echo nothing; }
browser_page() { in_browser curl --silent --max-time 2 http://203.0.113.80/ || echo nothing; }
browser_shows_page() { browser_page >shown; not grep -qx nothing shown; }
