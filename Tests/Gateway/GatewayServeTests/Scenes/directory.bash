#!/usr/bin/env bash
# A gateway whose passwords an LDAP server checks (slapd, by nslcd and pam_ldap), and then a RADIUS server (freeradius, by pam_radius_auth);
# clients that log in (login.py), on loopback addresses.
#
# $LOGIN is the client; $UNPACKED has Debian's packages nslcd, libpam-ldapd and libpam-radius-auth.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

tell() { cat ./*.out; }
gateway() { "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
login() { # NAME PASSWORD
  python3 "$LOGIN" 127.0.0.1 51820 "$pin" "$(key)" laptop "$@"
}
# As nobody, in a folder that it has made.
unprivileged() { exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs "$@"; }
folder() { install -d -o 65534 -g 65534 -m 700 "$@"; }
# Logs in as each at once, and compares what they see.
logins() { # SUFFIX NAME=PASSWORD=OUTCOME...
  local suffix=$1 one name password outcome
  shift
  for one in "$@"; do
    IFS='=' read -r name password outcome <<<"$one"
    login "$name" "$password" >"$name-$password-$suffix.out" 2>&1 &
  done
  for one in "$@"; do
    IFS='=' read -r name password outcome <<<"$one"
    local file=$name-$password-$suffix.out
    until_so "the login of $name ($suffix) ends" grep -qE '^8[34] ' "$file"
    case $outcome in
    in) grep -q "^83 1=b'$name'" "$file" || fail "$name ($suffix) does not log in: $(cat "$file")" ;;
    wrong) grep -qF "$wrong" "$file" || fail "$name with $password ($suffix): $(cat "$file")" ;;
    away) grep -q "^84 1=b'.x06'" "$file" || fail "$name ($suffix) is not told that the server is away: $(cat "$file")" ;;
    esac
  done
}

own_machine
install -m 644 "$UNPACKED"/libpam-ldapd/lib/*/security/pam_ldap.so "$UNPACKED"/libpam-radius-auth/lib/*/security/pam_radius_auth.so security/
chmod 711 /run/work
ip link set lo up

# The LDAP server: bob is locked out (ppolicy), carol's account has ended (shadowExpire).
folder ldap ldap/data
cat >ldap/slapd.conf <<'END'
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload ppolicy
database mdb
maxsize 10485760
suffix "dc=example,dc=org"
rootdn "cn=admin,dc=example,dc=org"
directory /run/work/ldap/data
overlay ppolicy
ppolicy_default "cn=policy,dc=example,dc=org"
END
person() { # NAME [LINE...]
  printf 'dn: uid=%s,dc=example,dc=org\nobjectClass: inetOrgPerson\nobjectClass: posixAccount\nobjectClass: shadowAccount\n' "$1"
  printf 'uid: %s\ncn: %s\nsn: %s\nuidNumber: 2000\ngidNumber: 2000\nhomeDirectory: /nonexistent\nuserPassword: right-%s\n' "$1" "$1" "$1" "$1"
  [[ -z ${2:-} ]] || printf '%s\n' "${@:2}"
  echo
}
{
  printf 'dn: dc=example,dc=org\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n'
  printf 'dn: cn=policy,dc=example,dc=org\nobjectClass: device\nobjectClass: pwdPolicy\ncn: policy\npwdAttribute: userPassword\npwdLockout: TRUE\n\n'
  person alice
  person bob 'pwdAccountLockedTime: 000001010000Z'
  person carol 'shadowExpire: 1'
} >ldap/data.ldif
chown -R 65534:65534 ldap
(unprivileged slapadd -f ldap/slapd.conf -l ldap/data.ldif) >slapadd.log 2>&1 || fail 'slapadd'
(unprivileged slapd -d 0 -h ldap://127.0.0.1:3890 -f ldap/slapd.conf) >slapd.log 2>&1 &
slapd=$!
until_so 'slapd serves' bash -c 'echo >/dev/tcp/127.0.0.1/3890'
install -d -o 65534 -g 65534 -m 755 /run/nslcd
printf 'uri ldap://127.0.0.1:3890\nbase dc=example,dc=org\nbind_timelimit 2\ntimelimit 2\nreconnect_retrytime 1\n' >/etc/nslcd.conf
chmod 644 /etc/nslcd.conf
(unprivileged "$UNPACKED/nslcd/usr/sbin/nslcd" -n) >nslcd.log 2>&1 &
until_so 'nslcd serves' test -S /run/nslcd/socket
printf 'auth required pam_ldap.so\naccount required pam_ldap.so\n' >/etc/pam.d/roamward
chmod 644 /etc/pam.d/roamward

gateway init --endpoint 127.0.0.1 --pool 10.77.0.0/24 >/dev/null
for name in alice bob carol own; do gateway user add "$name"; done
gateway user set own --password <<<'own-password'
gateway access add web --from everybody --to 203.0.113.0/24
gateway set logins on >/dev/null
pin=$(gateway login show | sed -n 's/.*pin //p')
gateway set logins.pam '{ service: roamward, timeout: 8 }'
for name in alice bob carol; do gateway user set "$name" --pam "$name"; done
(exec "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >serve.log 2>&1 &
serving=$!
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' serve.log
gateway doctor >doctor.out || fail 'the doctor finds something with LDAP'
logins ldap alice=right-alice=in alice=wrong=wrong dave=right-dave=wrong bob=right-bob=wrong carol=right-carol=wrong own=own-password=in
for reason in 'alice.*wrongPassword' 'dave.*unknownName' 'carol.*expiredAccount'; do
  gateway audit | found "login refused.*$reason" || fail "the audit log does not say $reason: $(gateway audit)"
done
kill "$slapd"
wait "$slapd" || true
logins ldap-away alice=right-alice=away own=own-password=in
! gateway doctor >doctor.out || fail 'the doctor does not see that the LDAP server is away'
grep -q 'pam: the service roamward cannot be used' doctor.out || fail 'the doctor does not tell it'

# The RADIUS server: bob is rejected whatever the password.
folder radius
cat >radius/radiusd.conf <<'END'
name = radiusd
prefix = /usr
libdir = /usr/lib/freeradius
raddbdir = /run/work/radius
log {
  destination = stdout
}
security {
  reject_delay = 1
}
client scene {
  ipaddr = 127.0.0.1
  secret = a-secret-of-the-scene
}
modules {
  files {
    usersfile = /run/work/radius/users
  }
  pap {
  }
}
server default {
  listen {
    type = auth
    ipaddr = 127.0.0.1
    port = 18120
  }
  authorize {
    files
    pap
  }
  authenticate {
    Auth-Type PAP {
      pap
    }
  }
}
END
# shellcheck disable=SC2016
printf '$INCLUDE /usr/share/freeradius/dictionary\n' >radius/dictionary
printf 'alice Cleartext-Password := "right-alice"\nbob Auth-Type := Reject\nerin Cleartext-Password := "right-erin"\n' >radius/users
chown -R 65534:65534 radius
(unprivileged freeradius -f -d /run/work/radius -n radiusd -l stdout) >radius.log 2>&1 &
radius=$!
until_so 'freeradius serves' grep -q 'Ready to process requests' radius.log
printf '127.0.0.1:18120 a-secret-of-the-scene 2\n' >/etc/pam_radius_auth.conf
printf 'auth required pam_radius_auth.so retry=1\naccount required pam_permit.so\n' >/etc/pam.d/radius
chmod 644 /etc/pam.d/radius
chmod 600 /etc/pam_radius_auth.conf
! gateway set logins.pam '{ service: radius }' 2>mistake.out || fail 'a file that its user cannot read is taken'
grep -q 'help: chgrp roamward-pam /etc/pam_radius_auth.conf && chmod 640 /etc/pam_radius_auth.conf' mistake.out || fail 'no cure is told'
chgrp roamward-pam /etc/pam_radius_auth.conf && chmod 640 /etc/pam_radius_auth.conf
printf 'auth required pam_radius_auth.so conf=/var/radius.conf\naccount required pam_permit.so\n' >/etc/pam.d/elsewhere
chmod 644 /etc/pam.d/elsewhere
! gateway set logins.pam '{ service: elsewhere }' 2>mistake.out || fail 'a file that modules cannot read is taken'
grep -q 'pam: /etc/pam.d/elsewhere:1: modules can read no file such as /var/radius.conf' mistake.out || fail 'the file is not told'
gateway user set alice --no-identity
gateway set logins.pam '{ service: radius, create-users: true, timeout: 8 }'
gateway user set alice --pam alice
until_so 'the doctor finds nothing with RADIUS' gateway doctor
until_so 'the gateway asks RADIUS' bash -c "python3 '$LOGIN' 127.0.0.1 51820 '$pin' \"\$(head -c 32 /dev/urandom | base64)\" laptop erin right-erin | grep -q '^83 '"
logins radius alice=right-alice=in alice=wrong=wrong dave=right-dave=wrong bob=right-bob=wrong own=own-password=in
kill "$radius"
wait "$radius" || true
logins radius-away alice=right-alice=away own=own-password=in
gateway audit --verify >/dev/null || fail 'the audit log is broken'
kill "$serving"
wait "$serving" || fail 'the gateway ends with an error'
gateway cleanup >/dev/null
