internal import NetworkTypes

/// Sends questions to name servers, and determines which answers to accept (RFC 5452).
///
/// Each attempt has a random ID and a random socket of the pool. An answer is accepted only from the address and port that were asked, at
/// that socket, with that ID and question. Identical questions that are open are asked once. Without an answer the next server is asked
/// after 1, 2 and 3 s. A truncated answer is asked for again over TCP.
struct ForwardMachine: Sendable {
  struct Limits: Hashable, Sendable {
    /// Open questions, and those of one group.
    var all = 4096
    var each = 2048
    /// Connections to name servers.
    var streams = 32
    var retry = Duration.seconds(1)
    /// The longest time from the arrival of a question. A question that waited for its tunnel has at least 300 ms of it left.
    var time = Duration.milliseconds(4800)
    /// The same where a tunnel can be started instead.
    var timeWithFallback = Duration.seconds(2)
  }

  enum Result: Sendable {
    /// An answer, prepared for clients.
    case answer([UInt8])
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
  private var slots: [ForwardedQuery?] = []
  private var free: [Int] = []
  /// By socket and ID.
  private var attempts: [UInt32: Int] = [:]
  /// By the hash of the question, the group and the purpose.
  private var identical: [UInt64: Int] = [:]
  private var streams: [UInt32: Int] = [:]
  private var lastStream: UInt32 = 0
  private var deadlines = DeadlineHeap()

  init(limits: Limits = Limits(), random: @escaping @Sendable () -> UInt64) {
    self.limits = limits
    self.random = random
  }

  var count: Int { slots.count - free.count }
  var nextDeadline: Moment? { deadlines.first?.due }

  /// Sets the servers. Open questions have to be taken back before (`takeBack`).
  mutating func set(_ groups: [UpstreamGroup], _ pools: [UInt16: SocketPool]) {
    if self.groups != groups { preferred = Array(repeating: 0, count: groups.count) }
    open = Array(repeating: 0, count: groups.count)
    self.groups = groups
    self.pools = pools
  }

  /// Gives up open questions with their clients, because servers or tunnels have changed.
  mutating func takeBack(where isMatch: (ForwardedQuery.Purpose) -> Bool, _ out: inout Outbox) -> [Question] {
    var questions: [Question] = []
    for slot in slots.indices {
      guard let query = slots[slot], isMatch(query.purpose) else { continue }
      let askers = finish(slot, &out)?.askers ?? []
      if !query.purpose.isCheck { questions += askers }
    }
    return questions.sorted { $0.arrival < $1.arrival }
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
    if let slot = identical[identity], let query = slots[slot], query.isFor(question, key, purpose) {
      guard query.askers.count < ForwardedQuery.mostAskers, question.arrival + time(of: purpose) > now else { return (.full, nil) }
      slots[slot]?.askers.append(question)
      // One that waited for its tunnel may be older.
      if question.arrival < query.started {
        slots[slot]?.started = question.arrival
        deadlines.advance(question.arrival + time(of: purpose), for: slot)
      }
      return (.joined, nil)
    }
    guard count < limits.all, open[purpose.group] < limits.each else { return (.full, nil) }
    let query = ForwardedQuery(question, key, purpose, from: purpose.server == nil ? preferred[purpose.group] : 0)
    let slot: Int
    if let unused = free.popLast() {
      slot = unused
      slots[slot] = query
    } else {
      slot = slots.count
      slots.append(query)
    }
    open[purpose.group] += 1
    identical[identity] = slot
    let isInTime = question.arrival + time(of: purpose) > now
    if isInTime { send(slot, at: now, &out, &counters) }
    guard isInTime, slots[slot]?.sent ?? 0 > 0 else {
      let reason = servers(of: purpose).isEmpty || !isInTime ? ExtendedError.noReachableAuthority : .networkError
      return (.sent, finish(slot, &out).map { Finished(query: $0, result: .failure(reason)) })
    }
    return (.sent, nil)
  }

  private func servers(of purpose: ForwardedQuery.Purpose) -> [Upstream] { purpose.server.map { [$0] } ?? groups[purpose.group].servers }

  private func time(of purpose: ForwardedQuery.Purpose) -> Duration {
    purpose.fallback == nil && !purpose.isCheck ? limits.time : limits.timeWithFallback
  }

  private static func identity(_ key: QuestionKey, _ purpose: ForwardedQuery.Purpose) -> UInt64 {
    var hash = FNV1a(variant: key.hash)
    hash.add(UInt8(truncatingIfNeeded: purpose.group))
    hash.add(UInt8(truncatingIfNeeded: purpose.group >> 8))
    hash.add(purpose.fallback == nil ? 0 : 1)
    for byte in purpose.server?.address.bytes ?? [] { hash.add(byte) }
    return hash.value
  }
}

// Sending.
extension ForwardMachine {
  /// Sends the next attempt, and sets the time of the one after it.
  private mutating func send(_ slot: Int, at now: Moment, _ out: inout Outbox, _ counters: inout NameServerCounters) {
    guard let query = slots[slot] else { return }
    let end = query.started + time(of: query.purpose)
    guard query.sent < ForwardedQuery.mostAttempts, query.stream == nil, let (attempt, place) = newAttempt(of: query) else {
      return deadlines.set(end, for: slot)
    }
    deadlines.set(min(now + limits.retry, end), for: slot)
    slots[slot]?.nextServer = place + 1
    slots[slot]?.isUndelivered = false
    slots[slot]?.note(attempt)
    attempts[Self.place(attempt)] = slot
    counters.sent += 1
    out.datagram(from: attempt.socket, to: attempt.server.address, port: attempt.server.port, id: attempt.id) {
      query.append(to: &$0, id: attempt.id)
    }
  }

  /// The next server that a socket leads to, with a random socket and an ID that no open question has there.
  private func newAttempt(of query: ForwardedQuery) -> (ForwardedQuery.Attempt, server: Int)? {
    guard let pool = pools[groups[query.purpose.group].pool] else { return nil }
    let servers = servers(of: query.purpose)
    for i in 0..<servers.count {
      let place = (query.nextServer + i) % servers.count
      let server = servers[place]
      let sockets = pool[server.address.family]
      guard !sockets.isEmpty else { continue }
      for _ in 0..<16 {
        let value = random()
        let socket = sockets[Int(truncatingIfNeeded: ((value >> 16 & 0xffff_ffff) * UInt64(sockets.count)) >> 32)]
        let attempt = ForwardedQuery.Attempt(socket: socket, id: UInt16(truncatingIfNeeded: value), server: server)
        if attempts[Self.place(attempt)] == nil { return (attempt, place) }
      }
    }
    return nil
  }

  private static func place(_ attempt: ForwardedQuery.Attempt) -> UInt32 { UInt32(attempt.socket) << 16 | UInt32(attempt.id) }

  /// Asks the server over TCP instead. Returns whether there is a connection left.
  private mutating func openStream(
    _ slot: Int, to server: Upstream, at now: Moment, _ out: inout Outbox, _ counters: inout NameServerCounters
  ) -> Bool {
    guard let query = slots[slot], query.stream == nil, streams.count < limits.streams else { return false }
    lastStream &+= 1
    while streams[lastStream] != nil { lastStream &+= 1 }
    slots[slot]?.stream = lastStream
    streams[lastStream] = slot
    var message: [UInt8] = []
    query.append(to: &message, id: UInt16(truncatingIfNeeded: random()))
    let pool = groups[query.purpose.group].pool
    counters.streams += 1
    out.request(.openStream(number: lastStream, pool: pool, address: server.address, port: server.port, message: message))
    deadlines.set(query.started + time(of: query.purpose), for: slot)
    return true
  }

  /// Gives up the question, and forgets it.
  private mutating func finish(_ slot: Int, _ out: inout Outbox) -> ForwardedQuery? {
    guard let query = slots[slot] else { return nil }
    slots[slot] = nil
    free.append(slot)
    open[query.purpose.group] -= 1
    deadlines.remove(slot)
    for i in 0..<query.sent where attempts[Self.place(query.attempts[i])] == slot { attempts[Self.place(query.attempts[i])] = nil }
    let identity = Self.identity(query.key, query.purpose)
    if identical[identity] == slot { identical[identity] = nil }
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
    guard let slot = attempts[Self.place(attempt)], let query = slots[slot], query.expects(attempt) else {
      counters.strayAnswers += 1
      return nil
    }
    guard let outline = AnswerOutline(message) else {
      counters.malformedAnswers += 1
      return nil
    }
    guard query.isAnswered(by: message, outline) else {
      counters.strayAnswers += 1
      return nil
    }
    // Over TCP already: the answer of another attempt that is whole counts too.
    if outline.isTruncated {
      if query.stream != nil { return nil }
      let answer = prepared(message, outline, query)
      slots[slot]?.truncatedAnswer = answer
      if openStream(slot, to: server, at: now, &out, &counters) { return nil }
    }
    return conclude(slot, message, outline, from: server, at: now, &out, &counters)
  }

  /// Takes the answer on a connection; `nil`: it has failed.
  mutating func receive(
    stream number: UInt32, _ message: Span<UInt8>?, at now: Moment, _ out: inout Outbox, _ counters: inout NameServerCounters
  ) -> Finished? {
    guard let slot = streams.removeValue(forKey: number), let query = slots[slot] else { return nil }
    slots[slot]?.stream = nil
    if let message, let outline = AnswerOutline(message), !outline.isTruncated, query.isAnswered(by: message, outline) {
      return conclude(slot, message, outline, from: nil, at: now, &out, &counters)
    }
    // The truncated answer makes the client ask over TCP itself.
    guard let answer = query.truncatedAnswer else { return nil }
    return finish(slot, &out).map { Finished(query: $0, result: .answer(answer)) }
  }

  private func prepared(_ message: Span<UInt8>, _ outline: AnswerOutline, _ query: ForwardedQuery) -> [UInt8] {
    var copy: [UInt8] = []
    copy.reserveCapacity(message.count + 16)
    copy.append(message, 0..<outline.end)
    Responses.prepare(&copy, outline, edns: query.askers[0].edns, longestTTL: groups[query.purpose.group].longestTTL)
    return copy
  }

  /// An acceptable answer finishes the question. A failure is kept while another server may know better (RFC 1034 section 5.3.3).
  private mutating func conclude(
    _ slot: Int, _ message: Span<UInt8>, _ outline: AnswerOutline, from server: Upstream?, at now: Moment, _ out: inout Outbox,
    _ counters: inout NameServerCounters
  ) -> Finished? {
    guard let query = slots[slot] else { return nil }
    let servers = servers(of: query.purpose)
    counters.answers += 1
    switch outline.code {
    case ResponseCode.noError, ResponseCode.noSuchName:
      if query.purpose.server == nil, let server, let place = servers.firstIndex(of: server) { preferred[query.purpose.group] = place }
    case ResponseCode.formatError where query.askers[0].edns != nil && !query.isPlain && outline.opt == nil,
      ResponseCode.badVersion where !query.isPlain:
      // A server before EDNS (RFC 6891 section 7). The same server once more.
      slots[slot]?.isPlain = true
      if let server, let place = servers.firstIndex(of: server) { slots[slot]?.nextServer = place }
      send(slot, at: now, &out, &counters)
      return nil
    default:
      let failure = prepared(message, outline, query)
      slots[slot]?.failure = failure
      slots[slot]?.failures += 1
      if query.failures + 1 < min(servers.count, ForwardedQuery.mostAttempts), query.sent < ForwardedQuery.mostAttempts {
        send(slot, at: now, &out, &counters)
        return nil
      }
    }
    let answer = prepared(message, outline, query)
    return finish(slot, &out).map { Finished(query: $0, result: .answer(answer)) }
  }

  /// A datagram could not be sent: the next server is asked at once.
  mutating func undelivered(_ socket: UInt16, _ id: UInt16, at now: Moment) {
    guard let slot = attempts[UInt32(socket) << 16 | UInt32(id)] else { return }
    slots[slot]?.isUndelivered = true
    deadlines.set(now, for: slot)
  }

  /// Repeats questions whose time has come, and returns those whose time has ended.
  mutating func expire(at now: Moment, _ out: inout Outbox, _ counters: inout NameServerCounters) -> [Finished] {
    var finished: [Finished] = []
    while let next = deadlines.first, next.due <= now {
      guard let query = slots[next.slot] else {
        deadlines.remove(next.slot)
        continue
      }
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
      guard let query = finish(next.slot, &out) else { continue }
      if let answer = query.failure ?? query.truncatedAnswer {
        finished.append(Finished(query: query, result: .answer(answer)))
      } else {
        finished.append(Finished(query: query, result: .failure(query.isUndelivered ? .networkError : .noReachableAuthority)))
      }
    }
    return finished
  }
}
