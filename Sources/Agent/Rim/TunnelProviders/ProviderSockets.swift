internal import CLinux
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore
internal import SystemdIO

/// The sockets that the agent connects for a provider, with the mark of its tunnel.
final class ProviderSockets {
  struct Opened {
    let socket: FileDescriptor
    /// Its own address.
    let address: IPAddress?
  }

  private let mark: UInt32
  private let loop: EventLoop
  private var connecting: [UInt32: EventSource] = [:]

  /// `mark`: the firewall mark of the sockets.
  init(mark: UInt32, on loop: EventLoop) {
    self.mark = mark
    self.loop = loop
  }

  /// Whether some are not connected yet.
  var areConnecting: Bool { !connecting.isEmpty }

  /// Gives up those that are not connected yet; nothing is called any more.
  func close() { connecting = [:] }

  /// Connects a socket; `id`: its number, which no other one has that is being connected.
  func open(
    _ id: UInt32, _ transport: Transport, _ remote: Endpoint, then done: @escaping (Result<Opened, ProviderError>) -> Void
  ) {
    guard case .address(let address) = remote.host else { return done(.failure(ProviderError("\(remote) has no address"))) }
    let number = socket(
      address.family == .v4 ? AF_INET : AF_INET6,
      (transport == .udp ? Int32(SOCK_DGRAM.rawValue) : Int32(SOCK_STREAM.rawValue)) | Int32(SOCK_CLOEXEC.rawValue)
        | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard number >= 0 else { return done(.failure(ProviderError(SystemError.last("open a socket").description))) }
    let file = FileDescriptor(owning: number)
    var mark = mark
    guard setsockopt(number, SOL_SOCKET, SO_MARK, &mark, socklen_t(MemoryLayout.size(ofValue: mark))) == 0 else {
      return done(.failure(ProviderError(SystemError.last("mark a socket").description)))
    }
    // Streams of tunnels have packets in them, which do not wait for others.
    if transport == .tcp { _ = clinux_send_at_once(number) }
    let bytes = address.bytes
    guard clinux_connect(number, bytes, Int32(bytes.count), remote.port) == 0 else {
      guard errno == EINPROGRESS else { return done(.failure(ProviderError("\(remote): \(SystemError.words(errno))"))) }
      connecting[id] = try? loop.whenWritable(number) { [weak self] in
        self?.connecting[id] = nil
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout.size(ofValue: code))
        getsockopt(file.number, SOL_SOCKET, SO_ERROR, &code, &length)
        if code != 0 { return done(.failure(ProviderError("\(remote): \(SystemError.words(code))"))) }
        done(.success(Self.opened(file)))
      }
      return
    }
    done(.success(Self.opened(file)))
  }

  private static func opened(_ socket: FileDescriptor) -> Opened {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = clinux_local_address(socket.number, &bytes)
    return Opened(socket: socket, address: count > 0 ? IPAddress(bytes: bytes.prefix(Int(count))) : nil)
  }
}
