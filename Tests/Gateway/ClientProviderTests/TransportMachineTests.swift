import ClientProvider
import NetworkTypes
import Testing

@Suite("The transport of packets to a gateway") struct TransportMachineTests {
  private let one = IPAddress(v4: 0xcb00_710a)
  private let two = IPAddress(v4: 0xcb00_710b)
  private let start = Moment(nanoseconds: 1_000_000_000_000)

  private func sight(_ handshake: UInt64 = 0, relayed: UInt64 = 0) -> TransportMachine.Sight {
    .init(handshake: handshake, relayed: relayed)
  }

  /// Connected by TCP at `start + 3 s`, with the handshake 5.
  private func relayed(_ machine: inout TransportMachine) -> Moment {
    _ = machine.begin([one], at: start)
    let late = start + TransportMachine.patience
    #expect(machine.look(sight(), at: late) == [.closeRelay, .openRelay(one)])
    #expect(machine.relayOpened(at: late) == [.connectThroughRelay])
    #expect(machine.look(sight(5, relayed: 1), at: late) == [.answered] && machine.transport == .tcp(one))
    return late
  }

  @Test("UDP is tried first, twice, and stays without another look where it is answered") func udp() {
    var machine = TransportMachine(.auto, hasRelay: true)
    #expect(machine.begin([one, two], at: start) == [.closeRelay, .connect(one)] && machine.isAwaiting)
    #expect(machine.look(sight(), at: start + .seconds(1)) == [])
    #expect(machine.look(sight(), at: start + .milliseconds(1500)) == [.connect(one)])
    #expect(machine.look(sight(), at: start + .seconds(2)) == [])
    #expect(machine.look(sight(), at: start + .seconds(3)) == [.connect(two)])
    #expect(machine.look(sight(9), at: start + .seconds(4)) == [.answered] && machine.transport == .udp(two))
    #expect(machine.deadline == nil && machine.look(sight(9), at: start + .seconds(9000)) == [])
  }

  @Test("without a relay an address has longer, and the end is silence") func noRelay() {
    for machine in [TransportMachine(.auto, hasRelay: false), TransportMachine(.udp, hasRelay: true)] {
      var machine = machine
      #expect(machine.begin([one], at: start) == [.closeRelay, .connect(one)])
      #expect(machine.look(sight(), at: start + .seconds(6)) == [])
      #expect(machine.look(sight(), at: start + .seconds(7)) == [.closeRelay, .silent] && machine.transport == nil)
    }
  }

  @Test("each address's relay is tried, whether it cannot be opened, or WireGuard does not answer through it") func relays() {
    var machine = TransportMachine(.tcp, hasRelay: true)
    #expect(machine.begin([one, two], at: start) == [.closeRelay, .openRelay(one)])
    #expect(machine.look(sight(), at: start + .seconds(100)) == [])
    #expect(machine.relayFailed(at: start) == [.closeRelay, .openRelay(two)])
    #expect(machine.relayOpened(at: start) == [.connectThroughRelay])
    #expect(machine.look(sight(), at: start + TransportMachine.relayPatience) == [.closeRelay, .silent])
    // Late news is none.
    #expect(machine.relayOpened(at: start) == [] && machine.relayFailed(at: start) == [])
    #expect(machine.look(sight(3), at: start) == [])
  }

  @Test("over TCP, UDP is probed after 10 s, then at twice the distance, and every two minutes at last") func probes() {
    var machine = TransportMachine(.auto, hasRelay: true)
    var now = relayed(&machine)
    for pause in [10, 20, 40, 80, 120, 120] {
      #expect(machine.deadline == now + .seconds(pause))
      #expect(machine.look(sight(5, relayed: 1), at: now + .seconds(pause - 1)) == [])
      now = now + .seconds(pause)
      #expect(machine.look(sight(5, relayed: 1), at: now) == [.probe(one)] && machine.transport == .tcp(one))
      now = now + TransportMachine.probePatience
      #expect(machine.look(sight(5, relayed: 1), at: now) == [])
    }
  }

  @Test("the policy that wants TCP alone is never probed for UDP") func tcpAlone() {
    var machine = TransportMachine(.tcp, hasRelay: true)
    _ = machine.begin([one], at: start)
    _ = machine.relayOpened(at: start)
    #expect(machine.look(sight(1, relayed: 1), at: start) == [.answered] && machine.deadline == nil)
  }

  @Test("an answer to the probe by UDP returns there; a handshake of the relay is none") func returns() {
    var machine = TransportMachine(.auto, hasRelay: true)
    var now = relayed(&machine) + .seconds(10)
    _ = machine.look(sight(5, relayed: 1), at: now)
    #expect(machine.look(sight(6, relayed: 2), at: now + .milliseconds(999)) == [])
    #expect(machine.look(sight(6, relayed: 2), at: now + .seconds(1)) == [.nudge])
    #expect(machine.look(sight(6, relayed: 2), at: now + .seconds(2)) == [])
    #expect(machine.look(sight(6, relayed: 2), at: now + TransportMachine.probePatience) == [] && machine.transport == .tcp(one))
    now = now + TransportMachine.probePatience + .seconds(20)
    #expect(machine.look(sight(6, relayed: 2), at: now) == [.probe(one)])
    #expect(machine.look(sight(7, relayed: 2), at: now + .seconds(1)) == [.returnToUDP(one), .closeRelay, .answered])
    #expect(machine.transport == .udp(one) && machine.deadline == nil)
  }

  @Test("a return that does not hold makes the next probe come later; one that held does not", arguments: [false, true])
  func trial(holds: Bool) {
    var machine = TransportMachine(.auto, hasRelay: true)
    var now = relayed(&machine) + .seconds(10)
    _ = machine.look(sight(5, relayed: 1), at: now)
    _ = machine.look(sight(7, relayed: 1), at: now)
    now = now + (holds ? TransportMachine.trial : .seconds(30))
    #expect(machine.begin([one], at: now) == [.closeRelay, .connect(one)])
    now = now + TransportMachine.patience
    _ = machine.look(sight(), at: now)
    _ = machine.relayOpened(at: now)
    _ = machine.look(sight(8, relayed: 1), at: now)
    #expect(machine.deadline == now + (holds ? TransportMachine.firstPause : TransportMachine.cautiousPause))
  }

  @Test("a relay that ends is no end: UDP is tried, and the relay again", arguments: [false, true]) func ended(whileProbing: Bool) {
    var machine = TransportMachine(.auto, hasRelay: true)
    let now = relayed(&machine) + .seconds(10)
    if whileProbing { _ = machine.look(sight(5, relayed: 1), at: now) }
    #expect(machine.relayFailed(at: now) == [.closeRelay, .connect(one)] && machine.transport == nil)
  }
}
