internal import NetworkTypes

/// Sends questions to name servers, and determines which answers to accept (RFC 5452).
///
/// Each attempt has a random ID and a random socket of the pool. Up to eight that are sent at the same moment share it. An answer is
/// accepted only from the address and port that were asked, at that socket, with that ID and question. Identical questions that are open
/// are asked once. Without an answer the next server is asked after 1, 2 and 3 s. A truncated answer is asked for again over TCP.
struct ForwardMachine: Sendable {
  struct Limits: Equatable, Sendable {
    /// Open questions, and those of one group.
    var all = 4096
    var each = 2048
    /// Connections to name servers.
    var streams = 32
    /// Attempts of one moment that leave by the same socket. With one system call for all of them, and one for their answers, a question
    /// takes a sixth less processor time.
    var row = 8
    var retry = Duration.seconds(1)
    /// A question that waits longer gives its place to a new one where all are taken: servers answer sooner, or not at all.
    var patience = Duration.milliseconds(250)
    /// One of an asker or a domain that has so many open does so at once.
    var share = 512
    /// The longest time from the arrival of a question. A question that waited for its tunnel has at least 300 ms of it left.
    var time = Duration.milliseconds(4800)
    /// The same where a tunnel can be started instead.
    var timeWithFallback = Duration.seconds(2)
  }

  enum Result: Sendable {
    case answer(PreparedAnswer)
    case failure(ExtendedError)
  }

  /// A question that is not open any more: its clients are to be answered.
  struct Finished: Sendable {
    var query: ForwardedQuery
    var result: Result
  }

  let limits: Limits
  private let random: @Sendable () -> UInt64
  private(set) var groups: [UpstreamGroup] = []
  private(set) var pools: [UInt16: SocketPool] = [:]
  /// The place of the server that answered last, by group.
  private var preferred: [Int] = []
  private var open: [Int] = []
  /// Those of `free` are not open.
  private var slots: [ForwardedQuery] = []
  private var free: [Int] = []
  /// By socket and ID.
  private var attempts: NumberIndex
  /// By the hash of the question, the group and the purpose.
  private var identical: NumberIndex
  private var streams: [UInt32: Int] = [:]
  private var row = Row()
  private var lastStream: UInt32 = 0
  private var deadlines = DeadlineHeap()
  private var shares: QuestionShares

  init(limits: Limits = Limits(), random: @escaping @Sendable () -> UInt64) {
    self.limits = limits
    self.random = random
    attempts = NumberIndex(seed: random())
    let seed = random()
    identical = NumberIndex(seed: seed)
    shares = QuestionShares(seed: ~seed)
  }

  var count: Int { slots.count - free.count }
  var nextDeadline: Moment? { deadlines.first?.due }

  /// Sets the servers. Open questions have to be taken back before (`takeBack`).
  mutating func set(_ groups: [UpstreamGroup], _ pools: [UInt16: SocketPool]) {
    if self.groups != groups { preferred = Array(repeating: 0, count: groups.count) }
    open = Array(repeating: 0, count: groups.count)
    self.groups = groups
    self.pools = pools
    row = Row()
  }

  /// Gives up open questions with their clients, because servers or tunnels have changed.
  mutating func takeBack(where isMatch: (ForwardedQuery.Purpose) -> Bool, _ out: inout Outbox) -> [Question] {
    var questions: [Question] = []
    for slot in slots.indices {
      guard slots[slot].isOpen, isMatch(slots[slot].purpose) else { continue }
      let query = finish(slot, &out)
      if !query.purpose.isCheck { query.forEachAsker { questions.append($0) } }
    }
    return questions.sorted { $0.arrival < $1.arrival }
  }

  /// Attempts that share a socket.
  private struct Row {
    var pool: UInt16 = 0
    var family = IPAddress.Family.v4
    var socket: UInt16 = 0
    var moment = Moment(nanoseconds: 0)
    var left = 0
  }

  enum Acceptance {
    case sent
    case joined
    case full
  }

  /// Takes a question. `.full`: too many are open.
  mutating func ask(
    _ question: Question, _ key: QuestionKey, for purpose: ForwardedQuery.Purpose, at now: Moment, _ out: inout Outbox,
    _ counters: inout NameServerCounters
  ) -> (Acceptance, Finished?) {
    let identity = Self.identity(key, purpose)
    if let slot = identical[identity], slots[slot].isFor(question, key, purpose) {
      guard slots[slot].askerCount < ForwardedQuery.mostAskers, question.arrival + time(of: purpose) > now else { return (.full, nil) }
      slots[slot].others.append(question)
      // One that waited for its tunnel may be older.
      if question.arrival < slots[slot].started {
        slots[slot].started = question.arrival
        deadlines.advance(question.arrival + time(of: purpose), for: slot)
      }
      return (.joined, nil)
    }
    guard count < limits.all, open[purpose.group] < limits.each else { return (.full, nil) }
    var query = ForwardedQuery(question, key, purpose, from: purpose.server == nil ? preferred[purpose.group] : 0)
    query.share = shares.place(of: question)
    shares.add(query.share)
    let slot: Int
    if let unused = free.popLast() {
      slot = unused
      slots[slot] = query
    } else {
      slot = slots.count
      slots.append(query)
    }
    open[purpose.group] += 1
    identical.set(slot, for: identity)
    let isInTime = question.arrival + time(of: purpose) > now
    if isInTime { send(slot, at: now, &out, &counters) }
    guard isInTime, slots[slot].sent > 0 else {
      let reason = servers(of: purpose).isEmpty || !isInTime ? ExtendedError.noReachableAuthority : .networkError
      return (.sent, Finished(query: finish(slot, &out), result: .failure(reason)))
    }
    return (.sent, nil)
  }

  /// Ends an open question if no place is left for another: one of the oldest of the asker or domain with most open questions. So questions
  /// to silent servers take no places from others. `nil`: a place is left, or none of those looked at may go.
  mutating func makeRoom(for purpose: ForwardedQuery.Purpose, at now: Moment, _ out: inout Outbox) -> Finished? {
    let isGroupFull = open[purpose.group] >= limits.each
    guard count >= limits.all || isGroupFull else { return nil }
    var found: (slot: Int, share: Int)?
    // Sixteen are looked at: an order would cost every question.
    for _ in 0..<16 {
      let slot = Int(truncatingIfNeeded: random() % UInt64(slots.count))
      let query = slots[slot]
      guard query.isOpen, !query.purpose.isCheck, !isGroupFull || query.purpose.group == purpose.group else { continue }
      let share = shares.count(at: query.share)
      guard share >= limits.share || query.started + limits.patience <= now else { continue }
      if let found, (found.share, query.started) >= (share, slots[found.slot].started) { continue }
      found = (slot, share)
    }
    guard let found else { return nil }
    let query = finish(found.slot, &out)
    let answer = query.failure ?? query.truncatedAnswer
    return Finished(query: query, result: answer.map { .answer($0) } ?? .failure(.noReachableAuthority))
  }

  private func servers(of purpose: ForwardedQuery.Purpose) -> [Upstream] { purpose.server.map { [$0] } ?? groups[purpose.group].servers }

  private func time(of purpose: ForwardedQuery.Purpose) -> Duration {
    purpose.fallback == nil && !purpose.isCheck ? limits.time : limits.timeWithFallback
  }

  /// A number that differs, except by chance, for each key and purpose.
  private static func identity(_ key: QuestionKey, _ purpose: ForwardedQuery.Purpose) -> UInt64 {
    let hash = key.hash ^ UInt64(truncatingIfNeeded: purpose.group << 1) ^ (purpose.fallback == nil ? 0 : 1)
    guard let address = purpose.server?.address else { return hash }
    var last = FNV1a(variant: hash)
    for byte in address.bytes { last.add(byte) }
    return last.value
  }
}

// Sending.
extension ForwardMachine {
  /// Sends the next attempt, and sets the time of the one after it.
  private mutating func send(_ slot: Int, at now: Moment, _ out: inout Outbox, _ counters: inout NameServerCounters) {
    let end = slots[slot].started + time(of: slots[slot].purpose)
    guard slots[slot].sent < ForwardedQuery.mostAttempts, slots[slot].stream == nil,
      let (attempt, place) = newAttempt(for: slots[slot].purpose, from: slots[slot].nextServer, at: now)
    else {
      return deadlines.set(end, for: slot)
    }
    deadlines.set(min(now + limits.retry, end), for: slot)
    slots[slot].nextServer = place + 1
    slots[slot].isUndelivered = false
    slots[slot].record(attempt)
    attempts.set(slot, for: Self.place(attempt))
    counters.sent += 1
    let (asker, isPlain) = (slots[slot].asker, slots[slot].isPlain)
    out.datagram(from: attempt.socket, to: attempt.server.address, port: attempt.server.port, id: attempt.id) {
      ForwardedQuery.append(asker, isPlain: isPlain, to: &$0, id: attempt.id)
    }
  }

  /// The next server that a socket leads to, with a random socket and an ID that no open question has there.
  private mutating func newAttempt(
    for purpose: ForwardedQuery.Purpose, from next: Int, at now: Moment
  ) -> (ForwardedQuery.Attempt, server: Int)? {
    let number = groups[purpose.group].pool
    guard let pool = pools[number] else { return nil }
    let servers = servers(of: purpose)
    for i in 0..<servers.count {
      let place = (next + i) % servers.count
      let server = servers[place]
      let sockets = pool[server.address.family]
      guard !sockets.isEmpty else { continue }
      if row.left == 0 || row.moment != now || row.pool != number || row.family != server.address.family {
        row = Row(pool: number, family: server.address.family, moment: now)
      }
      for _ in 0..<16 {
        let value = random()
        if row.left == 0 {
          row.socket = sockets[Int(truncatingIfNeeded: ((value >> 16 & 0xffff_ffff) * UInt64(sockets.count)) >> 32)]
          row.left = limits.row
        }
        let attempt = ForwardedQuery.Attempt(socket: row.socket, id: UInt16(truncatingIfNeeded: value), server: server)
        if attempts[Self.place(attempt)] == nil {
          row.left -= 1
          return (attempt, place)
        }
        row.left = 0
      }
    }
    return nil
  }

  private static func place(_ attempt: ForwardedQuery.Attempt) -> UInt64 { place(attempt.socket, attempt.id) }

  private static func place(_ socket: UInt16, _ id: UInt16) -> UInt64 { UInt64(socket) << 16 | UInt64(id) }

  /// Asks the server over TCP instead. Returns whether there is a connection left.
  private mutating func openStream(
    _ slot: Int, to server: Upstream, at now: Moment, _ out: inout Outbox, _ counters: inout NameServerCounters
  ) -> Bool {
    guard slots[slot].stream == nil, streams.count < limits.streams else { return false }
    lastStream &+= 1
    while streams[lastStream] != nil { lastStream &+= 1 }
    slots[slot].stream = lastStream
    streams[lastStream] = slot
    var message: [UInt8] = []
    ForwardedQuery.append(slots[slot].asker, isPlain: slots[slot].isPlain, to: &message, id: UInt16(truncatingIfNeeded: random()))
    let pool = groups[slots[slot].purpose.group].pool
    counters.streams += 1
    out.request(.openStream(number: lastStream, pool: pool, address: server.address, port: server.port, message: message))
    deadlines.set(slots[slot].started + time(of: slots[slot].purpose), for: slot)
    return true
  }

  /// Gives up the question, which is open, and forgets it.
  private mutating func finish(_ slot: Int, _ out: inout Outbox) -> ForwardedQuery {
    var query = ForwardedQuery.none
    swap(&slots[slot], &query)
    free.append(slot)
    open[query.purpose.group] -= 1
    shares.remove(query.share)
    deadlines.remove(slot)
    for i in 0..<query.sent { attempts.remove(Self.place(query.attempts[i]), of: slot) }
    identical.remove(Self.identity(query.key, query.purpose), of: slot)
    if let stream = query.stream {
      streams[stream] = nil
      out.request(.closeStream(number: stream))
    }
    return query
  }
}

// Inputs.
extension ForwardMachine {
  /// Takes a datagram at a socket. Returns a question that it finishes.
  mutating func receive(
    _ message: Span<UInt8>, at socket: UInt16, from server: Upstream, at now: Moment, _ out: inout Outbox,
    _ counters: inout NameServerCounters
  ) -> Finished? {
    guard message.count >= MessageFormat.header else {
      counters.malformedAnswers += 1
      return nil
    }
    let attempt = ForwardedQuery.Attempt(socket: socket, id: message.word16(0), server: server)
    guard let slot = attempts[Self.place(attempt)], slots[slot].expects(attempt) else {
      counters.strayAnswers += 1
      return nil
    }
    guard let outline = AnswerOutline(message) else {
      counters.malformedAnswers += 1
      return nil
    }
    guard slots[slot].isAnswered(by: message, outline) else {
      counters.strayAnswers += 1
      return nil
    }
    // Over TCP already: the answer of another attempt that is whole counts too.
    if outline.isTruncated {
      if slots[slot].stream != nil { return nil }
      slots[slot].truncatedAnswer = prepared(message, outline, slot)
      if openStream(slot, to: server, at: now, &out, &counters) { return nil }
    }
    return conclude(slot, message, outline, from: server, at: now, &out, &counters)
  }

  /// Takes the answer on a connection; `nil`: it has failed.
  mutating func receive(
    stream number: UInt32, _ message: Span<UInt8>?, at now: Moment, _ out: inout Outbox, _ counters: inout NameServerCounters
  ) -> Finished? {
    guard let slot = streams.removeValue(forKey: number) else { return nil }
    slots[slot].stream = nil
    if let message, let outline = AnswerOutline(message), !outline.isTruncated, slots[slot].isAnswered(by: message, outline) {
      return conclude(slot, message, outline, from: nil, at: now, &out, &counters)
    }
    // The truncated answer makes the client ask over TCP itself.
    guard let answer = slots[slot].truncatedAnswer else { return nil }
    return Finished(query: finish(slot, &out), result: .answer(answer))
  }

  private func prepared(_ message: Span<UInt8>, _ outline: AnswerOutline, _ slot: Int) -> PreparedAnswer {
    PreparedAnswer(message, outline, edns: slots[slot].asker.edns, longestTTL: groups[slots[slot].purpose.group].longestTTL)
  }

  /// An acceptable answer finishes the question. A failure is kept while another server may know better (RFC 1034 section 5.3.3).
  private mutating func conclude(
    _ slot: Int, _ message: Span<UInt8>, _ outline: AnswerOutline, from server: Upstream?, at now: Moment, _ out: inout Outbox,
    _ counters: inout NameServerCounters
  ) -> Finished? {
    let purpose = slots[slot].purpose
    let servers = servers(of: purpose)
    counters.answers += 1
    switch outline.code {
    case ResponseCode.noError, ResponseCode.noSuchName:
      if purpose.server == nil, let server, let place = servers.firstIndex(of: server) { preferred[purpose.group] = place }
    case ResponseCode.formatError where slots[slot].asker.edns != nil && !slots[slot].isPlain && outline.opt == nil,
      ResponseCode.badVersion where !slots[slot].isPlain:
      // A server before EDNS (RFC 6891 section 7). The same server once more.
      slots[slot].isPlain = true
      if let server, let place = servers.firstIndex(of: server) { slots[slot].nextServer = place }
      send(slot, at: now, &out, &counters)
      return nil
    default:
      slots[slot].failure = prepared(message, outline, slot)
      slots[slot].failures += 1
      if slots[slot].failures < min(servers.count, ForwardedQuery.mostAttempts), slots[slot].sent < ForwardedQuery.mostAttempts {
        send(slot, at: now, &out, &counters)
        return nil
      }
    }
    let answer = prepared(message, outline, slot)
    return Finished(query: finish(slot, &out), result: .answer(answer))
  }

  /// A datagram could not be sent: the next server is asked at once.
  mutating func undelivered(_ socket: UInt16, _ id: UInt16, at now: Moment) {
    guard let slot = attempts[Self.place(socket, id)] else { return }
    slots[slot].isUndelivered = true
    deadlines.set(now, for: slot)
  }

  /// Repeats questions whose time has come, and returns those whose time has ended.
  mutating func expire(at now: Moment, _ out: inout Outbox, _ counters: inout NameServerCounters) -> [Finished] {
    var finished: [Finished] = []
    while let next = deadlines.first, next.due <= now {
      let query = slots[next.slot]
      let isOver = now >= query.started + time(of: query.purpose)
      let isHopeless = query.isUndelivered && query.sent >= min(servers(of: query.purpose).count, ForwardedQuery.mostAttempts)
      guard isOver || isHopeless, query.stream == nil || isOver else {
        // The server that did not answer comes last from now on.
        let servers = servers(of: query.purpose).count
        if query.sent == 1, servers > 1, preferred[query.purpose.group] == (query.nextServer + servers - 1) % servers {
          preferred[query.purpose.group] = query.nextServer % servers
        }
        send(next.slot, at: now, &out, &counters)
        continue
      }
      _ = finish(next.slot, &out)
      if let answer = query.failure ?? query.truncatedAnswer {
        finished.append(Finished(query: query, result: .answer(answer)))
      } else {
        finished.append(Finished(query: query, result: .failure(query.isUndelivered ? .networkError : .noReachableAuthority)))
      }
    }
    return finished
  }
}
