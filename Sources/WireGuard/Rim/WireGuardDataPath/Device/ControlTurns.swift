internal import CWireGuardIO
internal import Glibc
internal import LinuxIO
internal import Synchronization
internal import WireGuardControl
package import WireGuardEngine

/// The turns of the engine's control, one thread at a time: handshake messages, the work that batches have left, the configuration, and
/// what is to be sent for all of it.
///
/// The control thread has most of them. A thread that carries packets takes one itself where there is nothing but a handshake to do: an
/// X25519 is computed before another thread has woken up.
package final class ControlTurns: @unchecked Sendable {
  // Sound: `outbox` is used only in a turn, and `staged` only inside the engine's sending section. All else is constant, atomic or a lock.
  /// The number of control among the engine's senders. Those of the sending threads follow.
  static let sender = 0
  /// So many answers to handshakes are sent together.
  private static let answersAtOnce = 64

  let handshakes = HandshakeQueue()
  var staged = StagedPackets()
  /// Readable when there is work for the control thread.
  package let event: Int32
  private let engine: Engine
  private let sockets: SocketNumbers
  private let turn = Guarded(())
  private var outbox: Outbox
  private let innerMTU: Atomic<Int>
  private let deadlineChanges = Atomic<Bool>(false)
  private let rests = Atomic<Bool>(false)

  /// `sockets`: what is sent goes out of these.
  init(_ engine: Engine, mtu: Int, _ sockets: SocketNumbers, segments: Bool) throws(SystemError) {
    self.engine = engine
    self.sockets = sockets
    innerMTU = Atomic(mtu)
    outbox = Outbox(sockets, segments: segments)
    event = cwg_event()
    guard event >= 0 else { throw .last("eventfd") }
  }

  deinit { if event >= 0 { close(event) } }

  /// The MTU of the inner device; 0 if unknown.
  package var mtu: Int {
    get { innerMTU.load(ordering: .relaxed) }
    set { innerMTU.store(newValue, ordering: .relaxed) }
  }

  /// The control thread has set a timer for its next turn and is not to be woken before. The order with `Engine.hasPending` is sequentially
  /// consistent. So either this thread sees the pending work, or the thread that left the work sees that it has to wake this one.
  package var threadRests: Bool {
    get { rests.load(ordering: .sequentiallyConsistent) }
    set { rests.store(newValue, ordering: .sequentiallyConsistent) }
  }

  func wakeThread() {
    if !threadRests { cwg_event_raise(event) }
  }

  /// Whether the engine's next deadline may have changed since the last call.
  package func takeDeadlineChange() -> Bool { deadlineChanges.exchange(false, ordering: .sequentiallyConsistent) }

  /// Has the engine do something, and carries out its effects.
  package func take(_ body: (Engine, inout [EngineEffect]) -> Void) {
    turn.withLock { _ in
      var effects: [EngineEffect] = []
      body(engine, &effects)
      perform(&effects)
    }
  }

  /// Has no other thread begin a turn meanwhile: it would wait for the engine.
  package func alone<Result: Sendable>(_ body: (Engine) -> Result) -> Result { turn.withLock { _ in body(engine) } }

  /// Answers the handshake messages that arrived, and does the work that batches have left.
  package func work() { turn.withLock { _ in workInTurn() } }

  /// The same in a thread that carries packets, if no other one has a turn, and if little is to be done: `messages` of a handshake, and
  /// nothing that could wait for room in a socket. The control thread sets its timer afterwards, or does the work.
  func workAtOnce(messages: Int) {
    if !threadRests, handshakes.count == messages, cwg_can_send(sockets.v4) != 0, cwg_can_send(sockets.v6) != 0 {
      turn.withLockIfAvailable { _ in workInTurn() }
    }
    wakeThread()
  }

  private func workInTurn() {
    var effects: [EngineEffect] = []
    var time = EngineTime.now
    var isToAdvance = engine.hasPending
    // Not all of thousands in one turn: others wait for the engine too, such as one who asks for its state.
    let hasMore = handshakes.take { message, source in
      if engine.receiveHandshake(message, from: source, at: time, effects: &effects) { isToAdvance = true }
      // The first of thousands are not answered after the last.
      guard effects.count >= Self.answersAtOnce else { return }
      perform(&effects)
      time = .now
    }
    perform(&effects)
    if hasMore { wakeThread() }
    handshakes.allow(engine.handshakeLoad(at: time.moment).room)
    guard isToAdvance else { return }
    engine.advance(to: .now, effects: &effects)
    perform(&effects)
    deadlineChanges.store(true, ordering: .sequentiallyConsistent)
  }

  // MARK: Effects

  private func perform(_ effects: inout [EngineEffect]) {
    for effect in effects {
      switch effect {
      case .transmit(let bytes, let destination, _): transmit(bytes, to: destination)
      case .flush(let peer): flush(peer)
      case .dropStaged(let peer), .removed(let peer):
        _ = engine.send(by: Self.sender, at: .now, mtu: mtu) { batch in
          batch.inSection { _ in _ = staged.take(peer) }
        }
      }
    }
    if !outbox.isEmpty { outbox.flush() }
    effects = []
  }

  private func transmit(_ bytes: [UInt8], to destination: DatagramAddress) {
    if outbox.isFull { outbox.flush() }
    // The payload follows a transport header in the record; a handshake message is a record without payload.
    let record = outbox.payload - ProtocolConstants.transportHeader
    bytes.withUnsafeBytes { record.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(record), byteCount: $0.count) }
    // Handshakes have priority over other traffic (AF41), as in the kernel's WireGuard.
    outbox.append(bytes.count, to: destination, trafficClass: (1...3).contains(bytes.first ?? 0) ? 0x88 : 0)
  }

  /// The peer has a session: sends its staged packets. If none are left, sends an empty packet, because the other side waits for a first
  /// packet.
  private func flush(_ peer: PeerIndex) {
    var isSilent = true
    let outcome = engine.send(by: Self.sender, at: .now, mtu: mtu) { batch in
      var tickets: [(packet: [UInt8], ticket: SendTicket)] = []
      batch.inSection { section in
        for packet in staged.take(peer) {
          packet.withUnsafeBytes { bytes in
            switch section.prepare(bytes, for: peer) {
            case .drop: return
            case .stage: staged.append(bytes, for: peer)
            case .ready(let ticket): tickets.append((packet, ticket))
            }
            isSilent = false
          }
        }
      }
      for (packet, var ticket) in tickets {
        if outbox.isFull { outbox.flush() }
        let payload = outbox.payload
        packet.withUnsafeBytes { payload.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(payload), byteCount: $0.count) }
        let record = batch.seal(packet.count, at: payload, with: &ticket)
        let trafficClass = packet.withUnsafeBytes { $0.baseAddress.map { InternetPacket.trafficClass($0) } ?? 0 }
        outbox.append(record, to: ticket.endpoint, trafficClass: CongestionMarks.outer(ofInner: trafficClass))
      }
    }
    outbox.flush()
    if isSilent {
      var effects: [EngineEffect] = []
      engine.keepalive(peer, at: .now, effects: &effects)
      perform(&effects)
    }
    if outcome.needsControl { cwg_event_raise(event) }
  }
}

extension EngineTime {
  static var now: EngineTime {
    var wall = timespec()
    clock_gettime(CLOCK_REALTIME, &wall)
    return EngineTime(moment: .now, wallSeconds: Int64(wall.tv_sec), wallNanoseconds: UInt32(truncatingIfNeeded: wall.tv_nsec))
  }
}
