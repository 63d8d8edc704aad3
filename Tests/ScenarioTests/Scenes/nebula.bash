# Words for scenes with the provider of Nebula: a lighthouse on the gateway.
# shellcheck shell=bash disable=SC2154

nebula_listens() { [[ -n $(on gateway ss -Hlun 'sport = :4242') ]]; }

# An authority, a lighthouse at 203.0.113.10 with the address 10.96.0.1, and the laptop's files.
nebula_server() {
  (
    umask 077
    mkdir -p "$scene/overlay"
    cd "$scene/overlay" || exit
    nebula-cert ca -name ca -duration 100h
    nebula-cert sign -name lighthouse -ip 10.96.0.1/24
    nebula-cert sign -name laptop -ip 10.96.0.2/24 -duration 50h
    nebula-cert ca -name stranger -duration 100h -out-crt other.crt -out-key other.key
    nebula-cert sign -name laptop -ip 10.96.0.2/24 -duration 50h -ca-crt other.crt -ca-key other.key -out-crt foreign.crt -out-key foreign.key
    nebula-cert sign -name laptop -ip 10.96.0.2/24 -duration 1s -out-crt expired.crt -out-key expired.key
    cat >lighthouse.yml <<'END'
pki: { ca: ca.crt, cert: lighthouse.crt, key: lighthouse.key }
lighthouse: { am_lighthouse: true }
listen: { host: 0.0.0.0, port: 4242 }
tun: { dev: nebula1 }
firewall: { outbound: [{ port: any, proto: any, host: any }], inbound: [{ port: any, proto: any, host: any }] }
END
    install -m 0600 ca.crt laptop.crt laptop.key foreign.crt foreign.key expired.crt expired.key "$policies"
    cat >"$policies/office.yml" <<'END'
static_host_map: { "10.96.0.1": ["203.0.113.10:4242"] }
lighthouse: { hosts: ["10.96.0.1"], interval: 5 }
listen: { host: 0.0.0.0, port: 0 }
punchy: { punch: true }
sshd: { enabled: false, listen: "127.0.0.1:2222", host_key: /etc/shadow }
firewall: { outbound: [{ port: any, proto: any, host: any }], inbound: [{ port: any, proto: any, host: any }] }
END
    # A file that a policy can name: *.yml in the folder would be a policy.
    mv "$policies/office.yml" "$policies/office.nebula"
    chmod 0600 "$policies/office.nebula"
    on gateway sh -c "cd '$PWD' && exec nebula -config lighthouse.yml" </dev/null >lighthouse.log 2>&1 &
  ) >"$scene/overlay.log" 2>&1
  within 10 nebula_listens
}

# Writes the policy of a tunnel `office` by that provider, with this name of the certificate; further lines of the tunnel come from standard
# input.
nebula_policy() {
  {
    cat <<END
version: 1
tunnels:
  office:
    provider:
      installed:
        name: $scene/providers/nebula.yaml
        credentials: { config: office.nebula, ca: ca.crt, cert: $1.crt, key: $1.key }
END
    cat
  } >"$policies/office.yaml"
  roamward check "$policies" >/dev/null
}

# The lighthouse answers once the tunnel carries packets.
office_answers() { busybox ping -c 1 -W 1 10.96.0.1 >/dev/null; }
