# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/keepers.bash
source "$tests/keepers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/both-gateways.bash
source "$tests/both-gateways.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/split-names.bash
source "$tests/split-names.bash"

for process in $(on cafe ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | sort -u); do kill "${process#pid=}"; done
within 5 eval "! on cafe ss -Hltun 'sport = :53' | grep . >/dev/null"
# Names of public.example have an address; to all others it is silent.
cat >"$scene/silent" <<'END'
use IO::Socket::INET;
my $socket = IO::Socket::INET->new(Proto => "udp", LocalAddr => "198.51.100.1", LocalPort => 53) or die;
setsockopt $socket, SOL_SOCKET, SO_RCVBUF, 8 << 20;
while (defined(my $from = $socket->recv(my $question, 4096))) {
  my $end = index $question, "\x06public\x07example\0";
  next if $end < 0;
  my ($id, $asked) = (substr($question, 0, 2), substr($question, 12, $end + 16 - 12 + 4));
  my $isAddress = substr($asked, -4, 2) eq "\0\x01";
  my $answer = $isAddress ? pack("nnnNnC4", 0xc00c, 1, 1, 0, 4, 198, 51, 100, 77) : "";
  $socket->send($id . pack("nnnnn", 0x8580, 1, $isAddress ? 1 : 0, 0, 0) . $asked . $answer, 0, $from);
}
END
on cafe perl "$scene/silent" &
within 5 all_answered_at 198.51.100.77
cat >"$scene/flood" <<'END'
use IO::Socket::INET; use Time::HiRes qw(time sleep);
my ($kind, $ready) = @ARGV; my ($sent, $begun, $one) = (0, time);
sub out { IO::Socket::INET->new(Proto => "udp", PeerAddr => "127.82.0.53", PeerPort => 53) }
while (1) {
  for (1 .. 20) {
    my $domain = $kind =~ /^one/ ? "flood" : "flood$sent";
    my $socket = $kind =~ /^one/ ? ($one //= out()) : out();
    my $name = join "", map { pack "C/a", $_ } "n$sent", $domain, "example";
    $socket->send(pack("nnnnnn", $sent % 65536, 0x100, 1, 0, 0, 0) . $name . pack("Cnn", 0, 1, 1)) if $socket;
    $sent++;
  }
  if ($sent == 8000) { open my $file, ">", $ready; }
  my $ahead = $sent / 2000 - (time - $begun);
  # What it was kept from sending is not sent later: never more than two thousand in a second.
  if ($ahead > 0) { sleep $ahead } else { $begun -= $ahead }
}
END
install -o nobody -d "$scene/flooding"
runuser -u nobody -- perl "$scene/flood" "$KIND" "$scene/flooding/begun" 2>"$scene/flooding/said" &
flooder=$!
within 20 test -e "$scene/flooding/begun"
answered=0
for i in $(seq 20); do [[ $(answer "www$i.public.example") != 198.51.100.77 ]] || answered=$((answered + 1)); done
for i in $(seq 10); do [[ $(answer "wiki$i.corp.example") != 10.77.0.77 ]] || answered=$((answered + 1)); done
say "$answered of 30"
kill $flooder
