# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Import/words.bash
source "$tests/Import/words.bash"

file home.conf 10.77.0.0/16 <<'END'
PostUp = resolvectl dns %i 10.77.0.1; resolvectl domain %i ~lan.example; resolvectl default-route %i false
END
file vpn.conf '0.0.0.0/0, ::/0' <<'END'
DNS = 10.64.0.1
PostUp  =  iptables -I OUTPUT ! -o %i -m mark ! --mark $(wg show  %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT && ip6tables -I OUTPUT ! -o %i -m mark ! --mark $(wg show  %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT
PreDown = iptables -D OUTPUT ! -o %i -m mark ! --mark $(wg show  %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT && ip6tables -D OUTPUT ! -o %i -m mark ! --mark $(wg show  %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT
END
file part.conf '0.0.0.0/0, ::/0' <<'END'
Table = 1234
PostUp = ip rule add from 10.8.0.2 table 1234
END
# The folder in which a policy uses the file itself.
imports home.conf vpn.conf part.conf --manual >report || say "failed: $?"
grep -o 'changed .*PostUp.*' report
grep -o 'dropped .*PreDown.*' report
grep -E '^[0-9] tunnel' report
grep -c 'part is off' report
grep -A4 -E '^    (dns|routes|kill-switch|enabled):' home.yaml vpn.yaml part.yaml | grep -vE 'provider|wireguard|config:|on-demand' | tr -d ' '
../roamward check . 2>/dev/null | grep -o '0 errors'
say "$(grep -lE '^(Post|Pre)' *.conf | xargs)"
