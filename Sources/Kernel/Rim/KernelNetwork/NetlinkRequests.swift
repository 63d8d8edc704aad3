internal import Glibc
import Synchronization
import Wire

/// The three kinds of requests: read a table, change one object, change many.
extension NetlinkSocket {
  /// Reads a table, one message after another. EINTR: it changed meanwhile, so the messages are not of one moment.
  func dump(
    _ what: String, _ encode: (inout NetlinkWriter, UInt32) -> Void, each: (NetlinkMessage) -> Void
  ) throws(NetlinkError) {
    try state.withLock { state throws(NetlinkError) in
      state.sequence &+= 1
      let sequence = state.sequence
      var writer = NetlinkWriter(reserving: 64)
      encode(&writer, sequence)
      try state.send(writer.bytes, what: what)
      var failure: NetlinkError?
      while true {
        let datagram: [UInt8]
        do throws(NetlinkError) {
          datagram = try state.answer(to: what)
        } catch {
          // The dump continues in the kernel until it is read to its end; the next one would be refused.
          guard error.code == ENOBUFS, failure == nil else { throw failure ?? error }
          failure = NetlinkError(code: ENOBUFS, what: what, kernelText: "answers were lost")
          continue
        }
        var messages = NetlinkMessages(datagram)
        while let message = messages.next() {
          guard message.sequence == sequence else { continue }
          if message.isInterrupted, failure == nil {
            failure = NetlinkError(code: EINTR, what: what, kernelText: "the table changed while it was read")
          }
          guard let end = NetlinkAcknowledgement(message) else {
            each(message)
            continue
          }
          if end.code != 0 { throw NetlinkError(end, what: what) }
          if let failure { throw failure }
          return
        }
        if messages.isTorn, failure == nil { failure = NetlinkError(code: EBADMSG, what: what, kernelText: "an answer was cut off") }
      }
    }
  }

  /// Requests one change and waits for the result. `encode` has to set `NLM_F_ACK`, which is its last argument.
  func request(_ what: String, _ encode: (inout NetlinkWriter, UInt32, UInt16) -> Void) throws(NetlinkError) {
    let refusals = try batch(what, count: 1) { writer, _, sequence, flags in encode(&writer, sequence, flags) }
    if let refusal = refusals[0] { throw NetlinkError(refusal, what: what) }
  }

  /// Requests `count` changes in one send, at most `batchLimit`. The kernel makes them in order, continues after one that it refuses, and
  /// reports refusals only. `encode` gets a change's index, its sequence number and flags. Returns the refusals by index.
  func batch(
    _ what: String, count: Int, _ encode: (inout NetlinkWriter, Int, UInt32, UInt16) -> Void
  ) throws(NetlinkError) -> [Int: NetlinkAcknowledgement] {
    guard count > 0 else { return [:] }
    return try state.withLock { state throws(NetlinkError) in
      let first = state.sequence &+ 1
      var writer = NetlinkWriter(reserving: count * 72)
      for i in 0..<count {
        state.sequence &+= 1
        // The last one is always acknowledged, which shows that all before it are complete.
        encode(&writer, i, state.sequence, i == count - 1 ? NetlinkMessage.Flag.acknowledge : 0)
      }
      try state.send(writer.bytes, what: what)
      var refusals: [Int: NetlinkAcknowledgement] = [:]
      while true {
        for message in NetlinkMessages(try state.answer(to: what)) {
          let place = Int(message.sequence &- first)
          guard place < count, let verdict = NetlinkAcknowledgement(message) else { continue }
          if verdict.code != 0 { refusals[place] = verdict }
          if place == count - 1 { return refusals }
        }
      }
    }
  }
}
