internal import CNetlink
internal import Glibc
import Synchronization
import Wire

/// A netlink socket of libnl, bound to the network namespace of the thread that opened it, wherever it is used later. Closed at the end.
///
/// Requests and their answers are serialised, so a socket may be shared. Never blocks for longer than `patience`.
final class NetlinkSocket: Sendable {
  enum Family: Int32 {
    /// `NETLINK_ROUTE`, `NETLINK_SOCK_DIAG`, `NETLINK_NETFILTER`, `NETLINK_KOBJECT_UEVENT` and `NETLINK_GENERIC`.
    case route = 0
    case sockets = 4
    case netfilter = 12
    case uevent = 15
    case generic = 16
  }

  struct State {
    let socket: OpaquePointer
    /// The buffer for received datagrams. One for all: memory that is freed is wiped, and this is much more than most datagrams have.
    let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: NetlinkSocket.messageBuffer)
    var sequence: UInt32 = 0
    var families: [String: UInt16] = [:]
    var carrier: Carrier?
    var patience = NetlinkSocket.patience
  }

  /// A replacement of the socket's transport, for tests of answers that the kernel does not give on demand.
  struct Carrier: Sendable {
    var send: @Sendable ([UInt8]) throws(NetlinkError) -> Void
    /// `nil` if there is no message now.
    var receive: @Sendable () throws(NetlinkError) -> [UInt8]?
  }

  let descriptor: Int32
  /// The number of messages that may be sent together so that a refusal of each fits the receive buffer.
  let batchLimit: Int
  let state: Mutex<State>

  /// The time limit of an answer in milliseconds; the kernel answers before a send returns.
  static let patience: Int32 = 5000
  /// Larger than the kernel's largest part of a dump (32 KiB).
  fileprivate static let messageBuffer = 65_536
  /// Bytes of receive buffer that one queued refusal is accounted at, generously.
  private static let refusalSize = 2048

  /// `receiveBuffer` in bytes; the kernel reserves twice that for its bookkeeping. Less if it may not be forced (no CAP_NET_ADMIN).
  init(_ family: Family, receiveBuffer: Int32 = 4 << 20) throws(NetlinkError) {
    guard let socket = nl_socket_alloc() else { throw NetlinkError(code: ENOMEM, what: "open a netlink socket") }
    errno = 0
    let result = nl_connect(socket, family.rawValue)
    let code = errno
    guard result >= 0 else {
      nl_socket_free(socket)
      throw NetlinkError(libnl: result, what: "open a netlink socket", system: code)
    }
    descriptor = nl_socket_get_fd(socket)
    // One recvmsg for each message: the buffer is large enough, so libnl need not peek.
    nl_socket_disable_msg_peek(socket)
    nl_socket_set_msg_buf_size(socket, Self.messageBuffer)
    nl_socket_set_nonblocking(socket)
    // Optional on old kernels; only strict checking is required (Linux 4.20).
    _ = Self.set(descriptor, 270, NETLINK_EXT_ACK)
    _ = Self.set(descriptor, 270, NETLINK_CAP_ACK)
    let isStrict = Self.set(descriptor, 270, NETLINK_GET_STRICT_CHK)
    if !Self.set(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, receiveBuffer) { _ = Self.set(descriptor, SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
    _ = Self.set(descriptor, SOL_SOCKET, SO_SNDBUF, 1 << 20)
    var granted: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &granted, &size)
    batchLimit = min(max(Int(granted) / Self.refusalSize, 1), 1000)
    state = Mutex(State(socket: socket))
    guard isStrict || family != .route else { throw .last("ask the kernel for strict dumps (Linux 4.20 or later)") }
  }

  deinit {
    state.withLock {
      nl_socket_free($0.socket)
      $0.buffer.deallocate()
    }
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32 = 1) -> Bool {
    var value = value
    return setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
  }

  /// Its port number (`nlmsg_pid`), unique in its network namespace: the kernel's announcement of a change names the port of the request.
  var port: UInt32 { state.withLock { nl_socket_get_local_port($0.socket) } }

  /// Whether there is something to receive.
  var isReadable: Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, 0) > 0
  }

  /// Joins a multicast group, by number.
  func join(group: Int32) throws(NetlinkError) {
    let result = state.withLock { nl_socket_add_membership($0.socket, group) }
    guard result >= 0 else { throw NetlinkError(libnl: result, what: "join netlink group \(group)") }
  }

  func leave(group: Int32) throws(NetlinkError) {
    let result = state.withLock { nl_socket_drop_membership($0.socket, group) }
    guard result >= 0 else { throw NetlinkError(libnl: result, what: "leave netlink group \(group)") }
  }

  /// The number of a generic netlink family; `nil` if the kernel has none of that name and loads no module for it.
  func resolve(family name: String) throws(NetlinkError) -> UInt16? {
    let result = state.withLock { state in
      if let known = state.families[name] { return Int32(known) }
      let result = genl_ctrl_resolve(state.socket, name)
      if result > 0 { state.families[name] = UInt16(truncatingIfNeeded: result) }
      return result
    }
    if result == -NLE_OBJ_NOTFOUND { return nil }
    guard result > 0 else { throw NetlinkError(libnl: result, what: "resolve the netlink family \(name)") }
    return UInt16(truncatingIfNeeded: result)
  }

  /// Removes a family's cached number, which changes when its module is loaded again.
  func forget(family name: String) { state.withLock { $0.families[name] = nil } }

  /// The number of a generic family's multicast group; `nil` if there is none.
  func resolve(group: String, of family: String) throws(NetlinkError) -> Int32? {
    let result = state.withLock { genl_ctrl_resolve_grp($0.socket, family, group) }
    if result == -NLE_OBJ_NOTFOUND { return nil }
    guard result > 0 else { throw NetlinkError(libnl: result, what: "resolve the netlink group \(family) \(group)") }
    return result
  }

  /// Replaces the transport by `carrier`, with this time limit of an answer in milliseconds.
  func interpose(_ carrier: Carrier, patience: Int32) {
    state.withLock {
      $0.carrier = carrier
      $0.patience = patience
    }
  }

  /// The next datagram from the kernel; `nil` if there is none now. ENOBUFS: some were lost.
  func receive() throws(NetlinkError) -> [UInt8]? {
    try state.withLock { state throws(NetlinkError) in try state.receive() }
  }
}

extension NetlinkSocket.State {
  func send(_ bytes: [UInt8], what: String) throws(NetlinkError) {
    if let carrier { return try carrier.send(bytes) }
    var bytes = bytes
    let result = bytes.withUnsafeMutableBytes { nl_sendto(socket, $0.baseAddress, $0.count) }
    guard result >= 0 else { throw NetlinkError(libnl: result, what: what) }
  }

  /// Receives a datagram, without waiting; one from another sender than the kernel is returned empty.
  func receive() throws(NetlinkError) -> [UInt8]? {
    if let carrier { return try carrier.receive() }
    while true {
      var sender = sockaddr_nl()
      let count = receive(from: &sender)
      if count < 0, errno == EINTR { continue }
      if count == 0 || count < 0 && errno == EAGAIN { return nil }
      guard count > 0 else { throw .last("receive from the kernel") }
      // A device's answer has its private key.
      defer { explicit_bzero(buffer, min(count, NetlinkSocket.messageBuffer)) }
      guard count <= NetlinkSocket.messageBuffer else { throw NetlinkError(code: EMSGSIZE, what: "receive from the kernel") }
      return sender.nl_pid == 0 ? Array(UnsafeBufferPointer(start: buffer, count: count)) : []
    }
  }

  /// recvfrom(2): the length of the datagram, which may be more than the buffer has.
  private func receive(from sender: inout sockaddr_nl) -> Int {
    withUnsafeMutableBytes(of: &sender) { address in
      var length = socklen_t(address.count)
      return recvfrom(
        nl_socket_get_fd(socket), buffer, NetlinkSocket.messageBuffer, Int32(MSG_DONTWAIT) | Int32(MSG_TRUNC),
        address.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
    }
  }

  /// Waits for the next datagram.
  func answer(to what: String) throws(NetlinkError) -> [UInt8] {
    while true {
      if let bytes = try receive() { return bytes }
      var descriptor = pollfd(fd: nl_socket_get_fd(socket), events: Int16(POLLIN), revents: 0)
      let ready = poll(&descriptor, 1, patience)
      if ready == 0 { throw NetlinkError(code: ETIMEDOUT, what: what, kernelText: "no answer from the kernel") }
      if ready < 0, errno != EINTR { throw .last(what) }
    }
  }
}
