# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

perl -MSocket -e '$| = 1; socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die; bind($s, pack_sockaddr_un($ARGV[0])) or die;
  while (defined recv($s, my $m, 65536, 0)) { print "$m\n" }' "$scene"/notify >heard &
within 5 test -S notify
