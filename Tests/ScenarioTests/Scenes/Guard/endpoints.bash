# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/guard.bash
source "$tests/guard.bash"

go cafe
start_agent
cat >send <<'PERL'
use Socket qw(:all);
for (['203.0.113.80', 7777], ['203.0.113.80', 7778], ['203.0.113.53', 53], ['2001:db8::80', 7777], ['2001:db8::53', 53]) {
  my ($address, $port) = @$_;
  my $v6 = $address =~ /:/;
  my $to = $v6 ? pack_sockaddr_in6($port, inet_pton(AF_INET6, $address)) : pack_sockaddr_in($port, inet_aton($address));
  for my $type (SOCK_DGRAM, SOCK_STREAM) {
    socket(my $s, $v6 ? AF_INET6 : AF_INET, $type, 0); fcntl($s, 4, 2048);
    $type == SOCK_DGRAM ? send($s, 'x', 0, $to) : connect($s, $to);
  }
}
PERL
on cafe nft 'table inet watch { set seen { typeof ip daddr . meta l4proto . th dport; flags dynamic; size 99; }; set seen6 { typeof ip6 daddr . meta l4proto . th dport; flags dynamic; size 99; }; chain c { type filter hook prerouting priority -300; iifname "lan0" add @seen { ip daddr . meta l4proto . th dport }; iifname "lan0" meta l4proto { tcp, udp } add @seen6 { ip6 daddr . meta l4proto . th dport }; }; }'
arrived() { sleep 0.3; for set in seen seen6; do on cafe nft -j list set inet watch $set | jq -r '.nftables[].set.elem // empty | .[].concat | join(" ")'; on cafe nft flush set inet watch $set; done | sort | tr '\n' ','; }
# A link that is just up may have dropped the answer for the router's address.
sees_all() { perl send; [[ $(arrived | tr -cd , | wc -c) == 10 ]]; }
within 5 sees_all && echo 10
guard --endpoint 203.0.113.80:7777 --endpoint 2001:db8::80 --endpoint www.example:53 -- sh -c 'until [ -e go ]; do sleep 0.05; done; perl send; sleep 600'
within 5 eval '[[ $(guards) == 1 ]]'
arrived >/dev/null
perl send; say "$(arrived)"
status_of endpoints | jq -c .
# The program's last command: it sleeps before too, while it waits for the file.
touch go; within 5 pgrep -fx 'sleep 600'; sleep 0.3; arrived
kill $program
