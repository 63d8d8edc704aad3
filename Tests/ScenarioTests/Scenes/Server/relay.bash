# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

sed -i 's|^Endpoint.*|Endpoint = 127.0.0.1:51899|' "$policies"/corp.conf
go cafe
cat >"$scene"/relay <<'END'
use IO::Socket::INET; use IO::Select;
my $in = IO::Socket::INET->new(Proto => "udp", LocalAddr => "127.0.0.1", LocalPort => 51899) or die;
my $out = IO::Socket::INET->new(Proto => "udp", PeerAddr => "203.0.113.10", PeerPort => 51820) or die;
my $select = IO::Select->new($in, $out); my $client;
while (1) { for my $socket ($select->can_read) { my $packet;
  if ($socket == $in) { $client = $in->recv($packet, 65535) or next; $out->send($packet) }
  else { defined $out->recv($packet, 65535) or next; $in->send($packet, 0, $client) if $client } } }
END
perl "$scene"/relay &
within 5 eval "ss -Hlun 'sport = :51899' | grep -q ."
{ roamward check "$policies" 2>&1 || true; } | grep -o 'its endpoint 127.0.0.1:51899 is a relay on this machine, whose own packets go into the tunnel that they carry'
dry plan | grep -c 'is a relay on this machine'
start_agent
tunnel_is corp connected
roamward status | grep -c 'is a relay on this machine'
# The relay's packets go into the tunnel that they carry, and are carried again.
for i in {1..200}; do echo x >/dev/udp/203.0.113.80/9; done
within 10 eval "roamward status --json | jq -e '.tunnels[0].notes[] | select(.code == \"one-way\")'"
say "goes round"
sed -i 's|include: .default.|&, exclude: [203.0.113.10/32]|' "$policies"/corp.yaml
within 10 eval '[[ $(seen_by 203.0.113.80) == 10.77.0.2 ]]'
say "$(roamward check "$policies" 2>&1 | grep -c relay || true) $(roamward status | grep -c 'is a relay' || true)"
stop_agent
