# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/browser.bash
source "$tests/browser.bash"

provider=$tests/../../Gateway/OpenIDConnectTests/issuer.py
printf '127.0.0.1 localhost
203.0.113.90 login.example
203.0.113.91 mfa.example
' >hosts
mount --bind hosts /etc/hosts
on internet ip address add 203.0.113.90/32 dev lo
on internet ip address add 203.0.113.91/32 dev lo
mkdir provider
on internet python3 "$provider" "$PWD/provider" 203.0.113.90 </dev/null >provider.log 2>&1 & issuing=$!
on internet python3 -m http.server --bind 203.0.113.91 443 </dev/null >mfa.log 2>&1 & issuing+=" $!"
trap 'kill $issuing; leave_group' EXIT
within 10 test -s provider/port
issuer=https://login.example:$(cat provider/port)/person
company_gateway
(umask 077; printf 's3cret/+ä
' >openid-secret)
company set logins.openid "{ issuer: \"$issuer\", client-id: roamward, authority-file: $PWD/provider/tls.pem,
  client-secret-file: $PWD/openid-secret }" >/dev/null
on cafe nft 'table inet watch { chain c { type filter hook prerouting priority -300;
  iifname "lan0" ip daddr 203.0.113.10 meta l4proto { tcp, udp } th dport 51821 accept;
  iifname "lan0" ip daddr 203.0.113.90 tcp dport != 80 accept;
  iifname "lan0" ip daddr 203.0.113.91 tcp dport 443 accept;
  iifname "lan0" meta l4proto { tcp, udp, icmp } counter; }; }'
go cafe
client_policy '' '' <<<$'        sign-in: { hosts: [mfa.example, gone.example] }
    kill-switch: "on"'
printf '    routes: { include: [default] }
' >>"$policies/office.yaml"
mfa() { timeout 2 bash -c 'echo 2>/dev/null >/dev/tcp/203.0.113.91/443'; }
get() { curl --silent --max-time "${patience:-2}" --cacert provider/tls.pem --output /dev/null --write-out '%{http_code}' "$@" || true; }
is_detected() { get http://203.0.113.80/ >/dev/null; ((0 < $(clear))); }
within 5 is_detected && say detected
start_agent
open_browser
roamward release --sign-in office --only $browser 2>&1 | sed -n 1p || true
roamward up office >/dev/null
within 30 field_is office 'questions[0].kind' url
page=$(field office 'questions[0].url')
before=$(clear)
say "before: $(in_browser bash -c "$(declare -f get); get $page")"
roamward status | grep -o 'that opens .* too'
others=$(($(clear) - before))
roamward release --sign-in office --only $browser 2>left-out | sed 's|/[^ ;]*|GROUP|'
# The agent has asked for the addresses.
before=$(($(clear) - others))
grep -o "^roamward: left out of the policy's hosts: gone.example" left-out
roamward status | sed -n 1p | sed 's|/[^ ;]*|GROUP|; s|:[0-9]*, |:PORT, |'
babble & babbler=$!
trap 'kill $issuing $babbler; leave_group' EXIT
say "others: $(get "$page"), $(get http://203.0.113.80/)"
within 5 in_browser bash -c "$(declare -f mfa); mfa" && say "the policy's host"
mfa || say "and no others there"
say "browser elsewhere: $(in_browser bash -c "$(declare -f get); get http://203.0.113.80/; get http://203.0.113.90/")"
in_browser busybox nslookup www.example 203.0.113.53 >/dev/null 2>&1 || say "no other name server"
say "browser: $(patience=20 in_browser bash -c "$(declare -f get); get $issuer/.well-known/openid-configuration")"
say "$(($(clear) - before)) others"
in_browser busybox nslookup www.example 198.51.100.1 2>&1 | grep -o '203.0.113.80'
in_browser curl --silent --cacert provider/tls.pem "$issuer/approve?code=${page#*code=}&sub=1&name=alice" >/dev/null
within 30 field_is office 'questions[0].kind' code
roamward answer office <<<'correct horse'
within 30 field_is office state connected
within 30 situation_is guarded
within 5 not eval 'nft list table inet roamward | grep cgroupv2.*login' && say closed
kill $babbler
trap 'kill $issuing; leave_group' EXIT
company device list --sessions | grep -o 'alice/laptop .* by openID,password'
stop_agent
