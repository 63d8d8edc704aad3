# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|; s|^Endpoint.*|Endpoint = '"$ENDPOINT"':51820|' "$policies"/corp.conf
ip -n internet route add 10.77.0.0/16 via 203.0.113.10
ip -n internet address add 198.18.0.1/32 dev br0
on internet busybox httpd -p 198.18.0.1:80 -h "$ROAMWARD_LAB"/internet/www
on cafe nft -f - <<NFT
table ip watch {
  chain passing {
    type filter hook forward priority 0
    ip saddr 198.51.100.23 ip daddr != 203.0.113.10 counter
  }
}
NFT
