# shellcheck shell=bash disable=SC2154
# IKEv2 by charon against a charon as gateway, with the kernel's IPsec: chapters of Tests/VM/unit.

# The probe packets that were sent while the tunnel starts, roams and crashes under its kill switch.
declare -A probes

ipsec() {
  local process before babbler
  ipsec_babbles
  ipsec_probes "$before" 300
  process=$(ipsec_charon)
  check 'charon has one capability' has_net_admin "$process"
  check 'another program is there instead of charon' replace_charon "$process"
  check 'it makes its attempts' within_seconds 90 attempts_end
  check 'only the one of its capability succeeds' attempts_fail
  check 'and as root all of them' attempts_succeed
  check 'charon is back' restore_charon
  check 'and carries' within_seconds 60 ipsec_carries
  check 'no packet of others went outside' test "$(outside)" = "$before"
  # By hand it goes down for the other key, and so does its kill switch.
  check 'another key needs a person' ipsec_with_key 'another key' ipsec_refused
  check 'and with the right one it comes up' ipsec_with_key 'a key of the office' ipsec_up
  kill "$babbler"
  ipsec_ends
}
ipsec_long() {
  local before babbler
  ipsec_babbles
  ipsec_probes "$before" 10000
  kill "$babbler"
  ipsec_ends
}
# Leaves $babbler, a program that sends all the time, and in $before how many of its packets were outside.
ipsec_babbles() {
  ipsec_begins
  probes=([start]=0 [roam]=0 [crash]=0)
  babble &
  babbler=$!
  check 'the detector detects' within_seconds 20 is_detected
  check 'the unit starts' systemctl start roamwardd.service
  check 'the kill switch is there' within_seconds 30 nft list table inet roamward
  sleep 1
  before=$(outside)
  check 'the tunnel comes up' during start within_seconds 60 ipsec_up
  check 'and carries' within_seconds 30 ipsec_carries
  check 'with the routes of an XFRM interface, and what the server pushes' ipsec_settings
}

# The other ways to sign in: certificates, and a user with a password (EAP-MSCHAPv2).
ipsec_logins() {
  ipsec_begins
  check 'the unit starts' systemctl start roamwardd.service
  check 'the tunnel comes up' within_seconds 60 ipsec_up
  check 'it goes down' roamward down office --wait 30
  ipsec_by_certificate
  ipsec_by_profile
  ipsec_by_password
  ipsec_ends
}
ipsec_logins_long() {
  ipsec_begins
  check 'the unit starts' systemctl start roamwardd.service
  check 'the tunnel comes up' within_seconds 60 ipsec_up
  check 'it goes down' roamward down office --wait 30
  ipsec_by_others_certificate
  ipsec_by_file
  ipsec_ends
}

ipsec_begins() {
  mkdir -p /usr/lib/roamward/providers
  check 'the user of providers is made' systemd-sysusers /usr/lib/sysusers.d/roamward.conf
  check 'authorities and certificates are made' ipsec_certificates
  check 'a gateway runs' ipsec_gateway
  mv /etc/roamward/policies/10-corp.yaml "$run/"
  ipsec_policies
}

ipsec_ends() {
  local process
  check 'it is given back to its rules' roamward resume
  ipsec_address 23
  check 'it stops' systemctl stop roamwardd.service
  rm "$run/10-corp.yaml"
  check 'and leaves nothing' within_seconds 20 nothing_left
  check 'of IPsec neither' ipsec_nothing_left
  # The next one needs its ports.
  for process in $(ipsec_gateway_processes); do kill "$process"; done
  within_seconds 20 ipsec_gateway_is_gone
  ip netns exec far nft delete table inet detector
  ip -n far address del 10.96.1.1/32 dev lo
  rm -r "$run/gateway" "$run/pki"
  userdel roamward-provider
}

# `ipsec_probes BEFORE PACKETS`: start, roam and crash under the kill switch, again and again, until so many probe packets were sent.
ipsec_probes() {
  local before=$1 packets=$2 process address=24
  while
    process=$(ipsec_charon)
    check 'charon is killed: another carries' during crash ipsec_after_kill "$process" "$process"
    process=$(ipsec_charon)
    check 'the provider is killed: another carries' during crash ipsec_after_kill "$process" "$(ipsec_provider)"
    process=$(ipsec_charon)
    check 'all is killed, and started anew' during start ipsec_after_kill "$process"
    process=$(ipsec_charon)
    check 'on another address it carries (MOBIKE)' during roam ipsec_roams "$address"
    check 'by the same charon' test "$process" = "$(ipsec_charon)"
    check 'no packet of others went outside' test "$(outside)" = "$before"
    ((probes[start] + probes[roam] + probes[crash] < packets))
  do ((address = 47 - address)); done
  printf '%4ds      probe packets: %d during starts, %d during roams, %d during crashes; outside: %d\n' \
    "$SECONDS" "${probes[start]}" "${probes[roam]}" "${probes[crash]}" "$(($(outside) - before))"
}

# `during PHASE COMMAND ...`: counts the probe packets that are sent while the command runs.
during() {
  local phase=$1 from ended=0
  shift
  touch "$run/quickly"
  from=$(probed)
  "$@" || ended=1
  ((probes[$phase] += $(probed) - from)) || true
  rm "$run/quickly"
  return "$ended"
}

# `ipsec_after_kill CHARON [PROCESS]`: kills the process, or else all of the unit's, and waits until another charon carries.
ipsec_after_kill() {
  if (($# > 1)); then kill -KILL "$2"; else systemctl kill --signal=KILL roamwardd.service; fi
  within_seconds 60 ipsec_another "$1" && within_seconds 30 ipsec_carries
}

ipsec_roams() {
  ipsec_address "$1"
  within_seconds 60 ipsec_carries
}
ipsec_address() {
  ip address flush dev eth0 scope global
  ip address add "198.51.100.$1/24" dev eth0
  ip route add default via 198.51.100.1 dev eth0
}

# Both sides have a certificate. Another one is of another authority, one is no longer valid.
ipsec_by_certificate() {
  check 'both sides have a certificate: it comes up' ipsec_up_as badge alice office
  check 'and carries' within_seconds 30 ipsec_carries
  # shellcheck disable=SC2016 # Markdown's backquotes
  check 'an authority that does not vouch for the gateway needs a person' ipsec_fails_as badge alice stranger \
    'no authority vouches for the server; check the credential `ca`'
  check 'with the right one it comes up' ipsec_up_as badge alice office
  check 'it goes down' roamward down badge --wait 30
}
# shellcheck disable=SC2016 # Markdown's backquotes
ipsec_by_others_certificate() {
  check 'a certificate of another authority needs a person' ipsec_fails_as badge mallory office \
    "the server refused this machine's certificate; correct the credentials \`certificate\` and \`key\`"
  check 'a certificate that is no longer valid needs a person, and its date is said' ipsec_fails_as badge expired office \
    "this machine's certificate expired on $(date --utc --date=yesterday +%Y-%m-%d)"
  check 'with the right one it comes up' ipsec_up_as badge alice office
  check 'it goes down' roamward down badge --wait 30
}

# The same login by a profile of Apple's form, whose identity is written as Keychain does it.
ipsec_by_profile() {
  check 'a profile with an identity is imported' ipsec_imports
  check 'its tunnel comes up' within_seconds 60 ipsec_up_as from-profile
  check 'and carries' within_seconds 30 ipsec_carries
  check 'it goes down' roamward down from-profile --wait 30
  rm /etc/roamward/policies/from-profile.*
}
ipsec_imports() {
  openssl pkcs12 -export -legacy -inkey "$run/pki/alice.key" -in "$run/pki/alice.pem" -passout pass:secret -out "$run/pki/alice.p12"
  cat >"$run/from-profile.mobileconfig" <<PROFILE
<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0">
<dict>
  <key>PayloadType</key><string>Configuration</string>
  <key>PayloadVersion</key><integer>1</integer>
  <key>PayloadContent</key>
  <array>
    <dict>
      <key>PayloadType</key><string>com.apple.security.root</string>
      <key>PayloadContent</key><data>$(openssl x509 -in "$run/pki/office.pem" -outform DER | base64 --wrap=0)</data>
    </dict>
    <dict>
      <key>PayloadType</key><string>com.apple.security.pkcs12</string>
      <key>PayloadUUID</key><string>identity</string>
      <key>Password</key><string>secret</string>
      <key>PayloadContent</key><data>$(base64 --wrap=0 "$run/pki/alice.p12")</data>
    </dict>
    <dict>
      <key>PayloadType</key><string>com.apple.vpn.managed</string>
      <key>UserDefinedName</key><string>From profile</string>
      <key>VPNType</key><string>IKEv2</string>
      <key>IKEv2</key>
      <dict>
        <key>RemoteAddress</key><string>198.51.100.1</string>
        <key>RemoteIdentifier</key><string>gateway.office.example</string>
        <key>AuthenticationMethod</key><string>Certificate</string>
        <key>PayloadCertificateUUID</key><string>identity</string>
        <key>IKESecurityAssociationParameters</key>
        <dict>
          <key>EncryptionAlgorithm</key><string>AES-256-GCM</string>
          <key>DiffieHellmanGroup</key><integer>19</integer>
        </dict>
        <key>ChildSecurityAssociationParameters</key>
        <dict><key>EncryptionAlgorithm</key><string>AES-128</string></dict>
      </dict>
    </dict>
  </array>
</dict>
</plist>
PROFILE
  roamward import "$run/from-profile.mobileconfig" --output /etc/roamward/policies
}

# EAP-MSCHAPv2: a person is asked for the password, or a file has it.
ipsec_by_password() {
  check 'a person is asked for the password' ipsec_asks visitor
  check 'with a wrong one a person can help' ipsec_answered visitor 'a wrong one' 'the server refused the password'
  check 'it is asked for again' ipsec_asks visitor
  check 'with the right one it comes up' ipsec_answered visitor 'a password of alice' ''
  check 'and carries' within_seconds 30 ipsec_carries
  check 'the password is in no log' not grep -rqF -e 'password of alice' -e 'a wrong one' <(journal --unit=roamwardd.service)
  check 'it goes down' roamward down visitor --wait 30
}
ipsec_by_file() {
  check 'a file has the password: it comes up' ipsec_up_as guest
  check 'and carries' within_seconds 30 ipsec_carries
  (umask 077 && echo 'a wrong one' >/etc/roamward/policies/office/password)
  check 'a file with a wrong one needs a person' ipsec_fails_as guest '' '' 'the server refused the password'
  check 'it goes down' roamward down guest --wait 30
}

# `ipsec_up_as TUNNEL [CERTIFICATE AUTHORITY]`: starts it anew, with these files as its credentials.
ipsec_up_as() { ipsec_begin "$@" && within_seconds 60 ipsec_is_up "$1"; }
ipsec_begin() {
  roamward down "$1" --wait 30 || return 1
  if [[ -n ${2:-} ]]; then
    cp "$run/pki/$2.pem" /etc/roamward/policies/office/certificate.pem
    (umask 077 && cp "$run/pki/$2.key" /etc/roamward/policies/office/certificate.key)
    cp "$run/pki/$3.pem" /etc/roamward/policies/office/badge-ca.pem
  fi
  roamward up "$1"
}
# `ipsec_fails_as TUNNEL CERTIFICATE AUTHORITY REASON`
ipsec_fails_as() { ipsec_begin "$1" "$2" "$3" && within_seconds 60 ipsec_needs_a_person "$1" "$4"; }
ipsec_needs_a_person() {
  roamward status --json | jq -e --arg name "$1" --arg reason "$2" \
    '.tunnels[] | select(.name == $name) | ."failure-code" == "action-needed" and (.failure // "" | contains($reason))' || {
    roamward status --json | jq -r --arg name "$1" '.tunnels[] | select(.name == $name) | ."failure-code", .failure'
    return 1
  }
}
ipsec_asks() { roamward down "$1" --wait 30 && roamward up "$1" && within_seconds 30 ipsec_has_question "$1"; }
ipsec_has_question() {
  roamward status --json | jq -e --arg name "$1" \
    '.tunnels[] | select(.name == $name) | any(.questions[]; .kind == "password" and .prompt == "Password of alice for \($name)")'
}
# `ipsec_answered TUNNEL PASSWORD REASON`: no reason where it comes up.
ipsec_answered() {
  echo "$2" | roamward answer "$1" || [[ -n $3 ]] || return 1
  if [[ -n $3 ]]; then within_seconds 60 ipsec_needs_a_person "$1" "$3"; else within_seconds 60 ipsec_is_up "$1"; fi
}

ipsec_policies() {
  mkdir -p /etc/roamward/policies/office
  (
    umask 077
    echo 'a key of the office' >/etc/roamward/policies/office/psk
    echo 'a password of alice' >/etc/roamward/policies/office/password
    cp "$run/pki/alice.key" /etc/roamward/policies/office/certificate.key
  )
  cp "$run/pki/alice.pem" /etc/roamward/policies/office/certificate.pem
  cp "$run/pki/office.pem" /etc/roamward/policies/office/ca.pem
  cp "$run/pki/office.pem" /etc/roamward/policies/office/badge-ca.pem
  cat >/etc/roamward/policies/30-ipsec.yaml <<'POLICY'
version: 1
tunnels:
  office:
    provider:
      installed:
        name: strongswan
        options: { server: 198.51.100.1, routes: [0.0.0.0/0] }
        credentials: { psk: office/psk }
        allow: { routes: [0.0.0.0/0] }
    on-demand: { rules: [{ action: connect }] }
    routes: { include: [default] }
    kill-switch: "on"
  badge:
    provider:
      installed:
        name: strongswan
        options: { server: 198.51.100.1, remote-id: gateway.office.example, routes: [10.96.1.0/24] }
        credentials: { ca: office/badge-ca.pem, certificate: office/certificate.pem, key: office/certificate.key }
  visitor:
    provider:
      installed:
        name: strongswan
        options: { server: 198.51.100.1, remote-id: login.office.example, username: alice, routes: [10.96.1.0/24] }
        credentials: { ca: office/ca.pem }
  guest:
    provider:
      installed:
        name: strongswan
        options: { server: 198.51.100.1, remote-id: login.office.example, username: alice, routes: [10.96.1.0/24] }
        credentials: { ca: office/ca.pem, password: office/password }
POLICY
}

# Two authorities, the gateway's certificate, and three of this machine.
ipsec_certificates() {
  (
    umask 077
    mkdir -p "$run/pki" "$run/gateway/"{x509,x509ca,private}
    cd "$run/pki" || exit
    for name in office stranger; do
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout $name.key -out $name.pem -subj /CN=$name -days 9
    done
    ipsec_certificate gateway office 9 'subjectAltName = DNS:gateway.office.example, DNS:login.office.example'
    ipsec_certificate alice office 9 'subjectAltName = email:alice@office.example'
    ipsec_certificate mallory stranger 9 'subjectAltName = email:alice@office.example'
    ipsec_certificate expired office -1 'subjectAltName = email:alice@office.example'
    cp gateway.pem "$run/gateway/x509/" && cp office.pem "$run/gateway/x509ca/" && cp gateway.key "$run/gateway/private/"
  )
}
# `ipsec_certificate NAME AUTHORITY DAYS EXTENSION`
ipsec_certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" &&
    openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days "$3" -extfile <(echo "$4") -out "$1.pem"
}

ipsec_gateway() {
  cat >"$run/gateway/strongswan.conf" <<CONF
charon-systemd {
  load = random nonce openssl aes sha1 sha2 hmac kdf gcm gmp pem pkcs1 pkcs8 x509 constraints pubkey kernel-netlink socket-default vici attr eap-identity eap-mschapv2
  journal { default = -1 }
  filelog { $run/gateway/log { default = 1
    flush_line = yes } }
  plugins { vici { socket = unix://$run/gateway/vici } }
}
CONF
  cat >"$run/gateway/swanctl.conf" <<'CONF'
connections {
  office {
    version = 2
    pools = office
    local { auth = psk }
    remote { auth = psk }
    children { net { local_ts = 0.0.0.0/0 } }
  }
  badge {
    version = 2
    pools = office
    local { auth = pubkey
      certs = gateway.pem
      id = gateway.office.example }
    remote { auth = pubkey
      cacerts = office.pem }
    children { net { local_ts = 0.0.0.0/0 } }
  }
  login {
    version = 2
    pools = office
    send_cert = always
    local { auth = pubkey
      certs = gateway.pem
      id = login.office.example }
    remote { auth = eap-mschapv2
      eap_id = %any }
    children { net { local_ts = 0.0.0.0/0 } }
  }
}
pools { office { addrs = 10.96.0.0/24
  dns = 10.77.0.1 } }
secrets {
  ike { secret = "a key of the office" }
  eap-alice { id = alice
    secret = "a password of alice" }
}
CONF
  ip -n far address add 10.96.1.1/32 dev lo
  ip netns exec far nft -f - <<'NFT'
table inet detector {
  counter outside { }
  chain input {
    type filter hook input priority 0;
    udp dport 7777 meta ipsec missing counter name outside
  }
}
NFT
  STRONGSWAN_CONF=$run/gateway/strongswan.conf ip netns exec far charon-systemd </dev/null >"$run/gateway/out" 2>&1 &
  within_seconds 20 test -S "$run/gateway/vici"
  SWANCTL_DIR=$run/gateway swanctl --load-all --file "$run/gateway/swanctl.conf" --uri "unix://$run/gateway/vici"
}

# Probe packets of another program, to where the tunnel leads: a few, and many while they are counted. Their number is in a file, also of
# those that the kernel refuses.
babble() {
  perl -MSocket -e '
    open(my $file, ">", $ARGV[0]);
    socket(S, PF_INET, SOCK_DGRAM, 0);
    for (my $sent = 1;; $sent++) {
      send(S, "hello", 0, pack_sockaddr_in(7777, inet_aton("203.0.113.10")));
      my $isQuick = -e $ARGV[1];
      if (!$isQuick || $sent % 10 == 0) { sysseek($file, 0, 0); syswrite($file, sprintf("%12d\n", $sent)) }
      select(undef, undef, undef, $isQuick ? 0.002 : 0.05)
    }' "$run/probed" "$run/quickly"
}
probed() { awk '{ print $1 }' "$run/probed"; }
outside() { ip netns exec far nft --json list counter inet detector outside | jq '.nftables[] | .counter? // empty | .packets'; }
is_detected() { (($(outside) > 0)); }
ipsec_charon() { programs /usr/sbin/charon-systemd | head -n 1; }
ipsec_provider() { programs roamward-strongswan | head -n 1 | grep . || programs /usr/libexec/roamward/roamward-strongswan | head -n 1; }
ipsec_is_up() { roamward wait "$1" --for connected --timeout 1s; }
ipsec_up() { ipsec_is_up office; }
ipsec_gateway_is_gone() { [[ -z $(ipsec_gateway_processes) ]]; }
ipsec_gateway_processes() {
  local process
  for process in $(ip netns pids far); do [[ $(readlink "/proc/$process/exe") != */charon-systemd ]] || echo "$process"; done
}
ipsec_carries() { busybox ping -c 1 -W 2 10.96.1.1 >/dev/null; }
ipsec_settings() {
  [[ $(ip route get 203.0.113.10) == *'dev office'*'src 10.96.0.'* && $(ip -d -j link show office | jq -r '.[].linkinfo.info_kind') == xfrm ]] &&
    grep -q 10.77.0.1 /etc/resolv.conf
}
ipsec_another() {
  local now
  now=$(ipsec_charon)
  [[ -n $now && $now != "$1" ]] && ipsec_up
}
ipsec_with_key() {
  roamward down office && echo "$1" >/etc/roamward/policies/office/psk && roamward up office && within_seconds 60 "$2"
}
ipsec_refused() { ipsec_needs_a_person office "the server refused this machine's key; correct the credential \`psk\`"; }
ipsec_nothing_left() { [[ -z $(ip xfrm state) && ! $(ip xfrm policy) == *if_id* && -z $(programs /usr/libexec/roamward/roamward-strongswan) ]]; }

# A program that the provider starts as charon, under all that confines charon: it tries what its capability permits (rule), and what
# nothing permits. The words of the attempts that succeed are in the file.
replace_charon() {
  mkdir --mode=0755 "$run/attempts"
  touch "$run/attempts/"{words,own}
  chgrp roamward-provider "$run/attempts/words"
  chmod 0660 "$run/attempts/words"
  echo 'a secret' >"$run/attempts/secret"
  chmod 0600 "$run/attempts/"{own,secret}
  cat >"$run/attempts/program" <<END
#!/bin/bash
exec >>\${1:-$run/attempts/words} 2>/dev/null </dev/null
ip rule add pref 31999 lookup main && ip rule del pref 31999 && echo rule
cat $run/attempts/secret >/dev/null && echo secret
echo one >>$run/attempts/own && echo file
chown 0:0 \${1:-$run/attempts/words} && echo chown
kill -0 1 && echo kill
head -c 1 /proc/1/environ >/dev/null && echo environment
setpriv --reuid=1 --clear-groups true && echo user
unshare --net true && echo namespace
unshare --user true && echo user-namespace
nsenter --target=1 --mount true && echo enter
mount -t tmpfs none /mnt && umount /mnt && echo mount
chroot / true && echo chroot
mknod $run/attempts/disk b 8 0 && rm $run/attempts/disk && echo device
modprobe --quiet --remove dummy && echo module
cat /proc/sys/kernel/hostname >/proc/sys/kernel/hostname && echo sysctl
python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)' && echo raw
python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(("127.0.0.1", 501))' && echo port
python3 -c 'import mmap; mmap.mmap(-1, 4096, prot=7)' && echo code
mkdir /sys/fs/cgroup/attempt && rmdir /sys/fs/cgroup/attempt && echo group
echo \$\$ >/sys/fs/cgroup/cgroup.procs && echo leave
systemctl --no-ask-password start attempts.service && echo unit
echo end
END
  chmod 0755 "$run/attempts/program"
  mount --bind "$run/attempts/program" /usr/sbin/charon-systemd
  printf '[Service]\nType=oneshot\nExecStart=/bin/true\n' >/run/systemd/system/attempts.service
  systemctl daemon-reload
  kill -KILL "$1"
}
attempts_end() { grep -qx end "$run/attempts/words"; }
# Without this, an attempt that cannot succeed would be taken for one that is refused.
attempts_succeed() {
  : >"$run/attempts/as-root"
  "$run/attempts/program" "$run/attempts/as-root"
  diff <(grep -o 'echo [a-z-]*$' "$run/attempts/program" | cut -d ' ' -f 2) "$run/attempts/as-root"
}
attempts_fail() { diff <(printf '%s\n' end rule) <(sort -u "$run/attempts/words"); }
restore_charon() {
  # The provider starts it again and again: one may run right now.
  umount --lazy /usr/sbin/charon-systemd
  rm -r "$run/attempts" /run/systemd/system/attempts.service
  systemctl daemon-reload
  within_seconds 60 ipsec_up
}
has_net_admin() {
  [[ $(stat -c %G "/proc/$1") == roamward-provider && $(stat -c %u "/proc/$1") -ge 1895825408 ]] && grep -qx 'NoNewPrivs:.1' "/proc/$1/status" &&
    [[ $(awk '/^Cap(Prm|Eff|Bnd)/ { print $2 }' "/proc/$1/status" | sort -u) == 0000000000001000 ]]
}
