# An OpenVPN server on the gateway, and a policy `office` for it, imported from a client's file.
# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

umask 077
mkdir pki && cd pki
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2
for name in server client; do
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout $name.key -out $name.csr -subj /CN=$name
  [[ $name == server ]] && use=serverAuth || use=clientAuth
  printf 'extendedKeyUsage=%s\nkeyUsage=digitalSignature\n' "$use" >$name.ext
  openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out $name.pem -days 2 -extfile $name.ext
done
on gateway openvpn --cd "$PWD" --daemon --log server.log --dev tun --proto udp --lport 1194 --server 10.99.0.0 255.255.255.0 \
  --topology subnet --ca ca.pem --cert server.pem --key server.key --dh none --keepalive 5 20
listens() { [[ -n $(on gateway ss -Hlun 'sport = :1194') ]]; }
within 5 listens
{
  printf 'client\ndev tun\nproto udp\nremote %s 1194\nnobind\nremote-cert-tls server\n' 203.0.113.10
  for part in ca:ca.pem cert:client.pem key:client.key; do
    printf '<%s>\n%s\n</%s>\n' "${part%%:*}" "$(openssl "$([[ $part == key* ]] && echo pkey || echo x509)" -in "${part#*:}")" "${part%%:*}"
  done
} >office.ovpn
"$bin/roamward" import office.ovpn --manual --output "$policies"
