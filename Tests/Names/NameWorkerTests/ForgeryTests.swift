import Glibc
import LinuxIO
import NameProtocol
import NameServer
import NetworkTypes
import TestSupport
import Testing

private let canForge = canMakeNamespaces && geteuid() == 0 && (try? shell("command -v perl dig")) != nil

/// A real `roamward-names` between a client and a slow server, in a namespace with an attacker who knows all of its ports and every
/// question, and sends forged answers by a raw socket.
@Suite("Forged answers on real sockets", .enabled(if: canForge, "no namespaces, perl or dig here, or no root"), .serialized)
struct ForgeryTests {
  /// Answers 198.51.100.7, and before that forges answers with 203.0.113.66 in the name of a server. It writes how many it has sent.
  ///
  /// The first label says what is forged; `taken` is the right one, which proves that the attacker's datagrams arrive.
  private static let attacker = #"""
    use strict;
    use warnings;
    use Socket qw(:DEFAULT inet_aton);
    use Time::HiRes qw(sleep);
    my @ports = @ARGV;
    my $real = inet_aton('127.1.0.1');
    socket(my $server, PF_INET, SOCK_DGRAM, 0) or die "socket: $!";
    bind($server, pack_sockaddr_in(53, $real)) or die "bind: $!";
    socket(my $raw, PF_INET, SOCK_RAW, 255) or die "raw socket: $!";
    $| = 1;
    print "ready\n";
    my $sent = 0;
    my %attacked;
    # A UDP checksum of 0: none.
    sub forge {
      my ($source, $from, $to, $client, $payload) = @_;
      my $udp = pack('nnnn', $from, $to, 8 + length $payload, 0) . $payload;
      my $head = pack('CCnnnCCna4a4', 0x45, 0, 20 + length $udp, 0, 0, 64, 17, 0, $source, $client);
      send($raw, $head . $udp, 0, pack_sockaddr_in(0, $client)) or die "send: $!";
      # What the other side cannot read in time is lost.
      sleep(0.002) if ++$sent % 100 == 0;
    }
    sub reply {
      my ($id, $question, $address) = @_;
      return pack('nnnnnn', $id, 0x8180, 1, 1, 0, 0) . $question . pack('nnnNn', 0xc00c, 1, 1, 300, 4) . inet_aton($address);
    }
    while (my $peer = recv($server, my $message, 1500, 0)) {
      my ($port, $client) = unpack_sockaddr_in($peer);
      my $id = unpack('n', $message);
      my $rest = substr($message, 12);
      my $length = index($rest, "\0") + 5;
      my $question = substr($rest, 0, $length);
      my $kind = substr($question, 1, ord $question);
      my $other = $question;
      my $bad = '203.0.113.66';
      # On a busy machine the question is repeated while it is attacked; one attack is enough, or else the next question waits too long.
      if ($attacked{$kind}++) {
        print "again\n";
        send($server, reply($id, $question, '198.51.100.7'), 0, $peer);
        next;
      }
      $sent = 0;
      if ($kind =~ /^random/) {
        for (1 .. 10_000) {
          my ($to, $number) = ($ports[rand @ports], int rand 65_536);
          redo if $to == $port && $number == $id;
          forge($real, 53, $to, $client, reply($number, $question, $bad));
        }
      } elsif ($kind =~ /^id/) {
        for (1 .. 5_000) { forge($real, 53, $port, $client, reply(($id + $_ * 13) % 65_536, $question, $bad)) if $_ * 13 % 65_536 }
      } elsif ($kind =~ /^port/) {
        for (1 .. 100) { for my $to (@ports) { forge($real, 53, $to, $client, reply($id, $question, $bad)) if $to != $port } }
      } elsif ($kind =~ /^source/) {
        for (1 .. 100) {
          forge(inet_aton('127.1.0.2'), 53, $port, $client, reply($id, $question, $bad));
          forge($real, 54, $port, $client, reply($id, $question, $bad));
        }
      } elsif ($kind =~ /^question/) {
        substr($other, 1, 1) = 'x';
        forge($real, 53, $port, $client, reply($id, $_, $bad)) for $other, substr($question, 0, -4) . pack('nn', 28, 1),
          substr($question, 0, -4) . pack('nn', 1, 3), '';
        # A question, and half a message.
        forge($real, 53, $port, $client, pack('n', $id) . substr(reply($id, $question, $bad), 2) & "\xff\xff\x7f" . "\xff" x 500);
        forge($real, 53, $port, $client, substr(reply($id, $question, $bad), 0, 15));
      } elsif ($kind =~ /^taken/) {
        forge($real, 53, $port, $client, reply($id, $question, $bad));
      }
      print "$kind $sent\n";
      sleep(0.3);
      send($server, reply($id, $question, '198.51.100.7'), 0, $peer);
    }
    """#

  @Test("of more than 16,000 forged answers none is taken, and the right one is") func forged() throws {
    try inNamespaces {
      try shell("ip link set lo up")
      let driver = try NameDriver()
      try driver.addPool(0, "127.0.0.1")
      let servers = [IPAddress("127.1.0.1")].compactMap { $0 }.map { Upstream($0) }
      try driver.configure(
        NameServerConfiguration(
          network: 1, groups: [UpstreamGroup(servers: servers, pool: 0)], triggers: [], dispositions: [], rest: .forward(group: 0),
          answersCanary: true))
      try driver.listen("127.82.0.53")
      let folder = try TemporaryFolder()
      try TextFile.replace("\(folder.path)/attacker", with: Array(Self.attacker.utf8), mode: 0o644)
      let attacker = try Background("exec perl \(folder.path)/attacker \(driver.ports.map { "\($0)" }.joined(separator: " "))")
      let end = Moment.now + .seconds(20)
      while (try? attacker.written())?.contains("ready") != true, Moment.now < end { usleep(10_000) }
      func answer(_ name: String) throws -> String {
        try shell("dig @127.82.0.53 +tries=1 +time=6 +short \(name).example").filter { $0 != "\n" }
      }
      #expect(try answer("taken") == "203.0.113.66", "the attacker's datagrams arrive")
      func repetitions() throws -> UInt64 { UInt64(try attacker.written().split(separator: "\n").count { $0 == "again" }) }
      for kind in ["random", "id", "port", "source", "question"] {
        let repeated = try repetitions()
        let before = try driver.counters().0
        #expect(try answer(kind) == "198.51.100.7", "\(kind)")
        #expect(try answer(kind) == "198.51.100.7", "\(kind), from the cache")
        let after = try driver.counters().0
        let sent = try #require(try attacker.written().split(separator: "\n").last { $0.hasPrefix("\(kind) ") })
        print("Forged answers: \(sent), \(after.strayAnswers - before.strayAnswers) of them seen")
        let again = try repetitions() - repeated
        #expect(after.strayAnswers > before.strayAnswers + again, "\(kind): they arrive")
        #expect(after.answers == before.answers + 1, "one answer is taken")
      }
      let written = try attacker.written()
      #expect(written.split(separator: "\n").compactMap { Int($0.split(separator: " ").last ?? "") }.reduce(0, +) >= 16_000, "\(written)")
    }
  }
}
