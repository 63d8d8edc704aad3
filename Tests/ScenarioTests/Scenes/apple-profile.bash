# Words for scenes about a configuration profile as the WireGuard app takes it (MOBILECONFIG.md of wireguard-apple), with the rules of
# rules.json and the lab's gateway.
# shellcheck shell=bash disable=SC2154

# With the rules of rules.json, and this name server in the WireGuard text.
write_profile() {
  "$lab" config | sed "s|^Endpoint.*|Endpoint = vpn.corp.example:51820|; s|^Address.*|&${1:+\nDNS = $1}|" >office.wg
python3 - <<'PYTHON'
import json, plistlib
payload = {
    "PayloadDisplayName": "VPN", "PayloadType": "com.apple.vpn.managed", "PayloadVersion": 1,
    "PayloadIdentifier": "com.example.corp.wireguard.7A2D", "PayloadUUID": "7A2D5C7E-6E5B-4F0C-9D57-2B8F6A1C0001",
    "UserDefinedName": "Office", "VPNType": "VPN", "VPNSubType": "com.wireguard.ios",
    "VendorConfig": {"WgQuickConfig": open("office.wg").read()},
    "VPN": {"RemoteAddress": "vpn.corp.example:51820", "AuthenticationMethod": "Password",
            "OnDemandEnabled": 1, "OnDemandRules": json.load(open("rules.json"))}}
root = {
    "PayloadDisplayName": "Corp VPN", "PayloadType": "Configuration", "PayloadVersion": 1,
    "PayloadIdentifier": "com.example.corp.7A2D", "PayloadUUID": "7A2D5C7E-6E5B-4F0C-9D57-2B8F6A1C0002", "PayloadContent": [payload]}
plistlib.dump(root, open("office.mobileconfig", "wb"), sort_keys=False)
PYTHON
rm office.wg
}
# The rules of a profile.
rules_of() { python3 -c 'import json, plistlib, sys
for payload in plistlib.load(open(sys.argv[1], "rb"))["PayloadContent"]: print(json.dumps(payload["VPN"]["OnDemandRules"]))' "$1" | jq -S .; }
# The intranet's server answers for all three domains; the rest is the internet's.
replace_gateway_names() {
  local process
  for process in $(on gateway ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | sort -u); do kill "${process#pid=}"; done
  within 5 eval "! on gateway ss -Hlun 'sport = :53' | grep -q ."
  on gateway dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=10.77.0.1 --pid-file= \
    --server=203.0.113.53 --local=/corp.example/servers.example/probed.example/ --host-record=intranet.corp.example,10.77.0.1 \
    --host-record=wiki.servers.example,10.77.0.1 --host-record=wiki.probed.example,10.77.0.1
}
