# A gateway whose pin is in a signed zone: unbound serves the zone to itself, and validates it, at 127.0.0.1 of the laptop.
# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/as-installed.bash
source "$tests/as-installed.bash"

trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
here=vpn.corp.example:51821
record=_51821._tcp.vpn.corp.example.

# --- names -------------------------------------------------------------------------------------------------------

zone() { # LINE...: signed, with these records
  (
    cd "$scene/dns"
    cat >zone <<END
\$ORIGIN corp.example.
\$TTL 300
@ IN SOA ns hostmaster 1 3600 600 86400 300
@ IN NS ns
ns IN A 127.0.0.1
vpn IN A 203.0.113.10
END
    printf '%s\n' "$@" >>zone
    ldns-signzone -o corp.example zone "$key"
    chmod a+r zone.signed
  )
}

serve_names() { # [anchor]: unbound, which validates with a trust anchor
  cat >"$scene/dns/unbound.conf" <<END
server:
  directory: "$scene/dns"
  chroot: ""
  username: "nobody"
  pidfile: ""
  do-daemonize: no
  use-syslog: no
  interface: 127.0.0.1
  do-ip6: no
  local-zone: "." refuse
  local-zone: "corp.example." transparent
  ${1:+trust-anchor-file: "$key.ds"}
remote-control:
  control-enable: no
auth-zone:
  name: "corp.example."
  zonefile: "zone.signed"
  for-upstream: yes
  for-downstream: no
END
  "$scene/dns/unbound" -d -c "$scene/dns/unbound.conf" >>"$scene/dns/log" 2>&1 & names=$!
  within 5 dig @127.0.0.1 +tcp +tries=1 +time=1 vpn.corp.example
}

lie() { # NAMESPACE ADDRESS HEX|silent
  local inside=(on "$1")
  [[ $1 != laptop ]] || inside=()
  "${inside[@]}" "$tests/liar" "$2" "$3" </dev/null >/dev/null 2>>"$scene/dns/log" & names=$!
  within 5 eval "${inside[*]} ss -Hltn 'src $2 and sport = :53' | found ."
}

end_names() {
  kill "$names" 2>/dev/null || true
  wait "$names" 2>/dev/null || true
}

asks() { printf '%s\n' "$@" >/etc/resolv.conf; }

# --- logins ------------------------------------------------------------------------------------------------------

# The status of a login without a terminal, and what it says.
log_in() {
  local status=0
  roamward login "alice@$here" </dev/null >said 2>&1 || status=$?
  say "$status"
  sed "s|$pin|PIN|; s|$other|OTHER|; s|^ *help: .*|help|" said
}
dry_run() {
  local status=0
  roamward login "alice@$here" --dry-run "$@" </dev/null >said 2>&1 || status=$?
  say "$status"
  sed -n "s|$pin|PIN|; s|$other|OTHER|; /^note: /p; /shows the pin/p" said
}

company_gateway vpn.corp.example
go cafe
as_packaged
# Programs know the name without a name server.
echo '203.0.113.10 vpn.corp.example' >>/etc/hosts
mkdir -m 755 "$scene/dns"
# A copy: where AppArmor confines Debian's, it reads its own folder alone.
cp "$(command -v unbound)" "$scene/dns/"
key=$(cd "$scene/dns" && ldns-keygen -a ECDSAP256SHA256 -k corp.example)
chmod a+r "$scene/dns/$key.ds"
start_agent

# The gateway's record is SHA-256 of the key that it shows, by another program.
right=$(company login show --tlsa)
openssl s_client -connect 203.0.113.10:51821 </dev/null 2>/dev/null | openssl x509 -pubkey -noout | openssl pkey -pubin -outform DER |
  sha256sum | sed 's/ .*//' >digits
[[ $right == "$record IN TLSA 3 1 1 $(<digits)" ]] || say "the record: $right"
# A gateway without logins, or with an address alone, has none.
second() { on gateway "$bin/roamward-gateway" "$@" --state "$scene/second"; }
second init --endpoint 203.0.113.10:51822 --pool 10.94.0.0/24 >/dev/null
! second login show --tlsa >said 2>&1 || say 'a record without a pin'
grep -o 'there are no logins' said
second set logins on >/dev/null 2>&1
! second login show --tlsa >said 2>&1 || say 'a record without a name'
grep -o 'the endpoint .* has no name' said
other=sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
digits_of_other=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
wrong="$record IN TLSA 3 1 1 $digits_of_other"

echo '-- validated, and another pin'
asks 'nameserver 127.0.0.1'
zone "$wrong" "$record IN TLSA 3 0 1 $(<digits)"
serve_names anchor
log_in
"$tests/typist" "$bin/roamward" login "alice@$here" </dev/null >typed || say "$?, $(grep -c 'yes/no' typed || true) questions"
end_names

echo '-- a wrong signature'
zone "$right"
sed -i "s/$(<digits)/$digits_of_other/I" "$scene/dns/zone.signed"
serve_names anchor
log_in
end_names

echo '-- another kind'
zone "$record IN TLSA 2 1 1 $(<digits)"
serve_names anchor
log_in
end_names

echo '-- no record'
zone
serve_names anchor
log_in
end_names

echo '-- not validated'
zone "$right"
serve_names
log_in
end_names

echo '-- no name server'
log_in

echo '-- a name server that does not answer'
lie laptop 127.0.0.1 silent
SECONDS=0
log_in >silent.out & login=$!
within 5 pgrep -f 'roamward-provider --read-tlsa .* 127.0.0.1$'
reader=$(pgrep -f 'roamward-provider --read-tlsa .* 127.0.0.1$')
within 5 grep -q '^Seccomp:.*2$' "/proc/$reader/status"
user=$(id -u roamward-provider 2>/dev/null || id -u nobody)
say "$(sed -nE 's/^(Uid|CapEff|NoNewPrivs):\s*([0-9a-f]+).*/\1:\2/p' "/proc/$reader/status" | sed "s/^Uid:$user$/Uid:USER/" | paste -s -d ' ')"
wait "$login"
cat silent.out
((SECONDS < 30)) || say "it takes $SECONDS s"
end_names

echo '-- a liar on the network'
asks 'nameserver 203.0.113.10'
lie gateway 203.0.113.10 "$(<digits)"
log_in
printf '%s\t%s\n' '[yes/no]' no | "$tests/typist" "$bin/roamward" login "alice@$here" >typed || say "$?, $(grep -c 'note: .*not on this machine' typed) note"
asks 'nameserver 203.0.113.10' 'options trust-ad'
dry_run
end_names

echo '-- behind our own name server'
asks 'nameserver 127.82.0.53' 'options trust-ad'
lie laptop 127.82.0.53 "$(<digits)"
log_in
end_names
say "$(find local -type f | wc -l) files"

echo '-- validated, and one of several'
asks 'nameserver 127.0.0.1'
zone "$wrong" "$record IN TLSA 1 1 1 $(<digits)" "$right"
serve_names anchor
roamward login "alice@$here" <<<'correct horse' >said 2>&1
grep -oE '^vpn.corp.example:51821 shows .*|yes/no|corp: connected' said
grep -c "$pin" local/corp.yaml
within 5 office_answers
end_names

echo '-- another pin than the policy, and than the one that is given'
zone "$wrong"
serve_names anchor
roamward login "$here" </dev/null 2>&1 | grep -oE '^note: .*|corp: connected' | sed "s|$other|OTHER|"
dry_run --pin "$pin"
dry_run --pin "$other"
# An alias leads to the record.
zone "$record IN CNAME tlsa.keys" "tlsa.keys IN TLSA 3 1 1 $digits_of_other"
end_names
serve_names anchor
dry_run --pin "$pin"
end_names
stop_agent
