internal import GatewayCore
internal import GatewaySource
package import GatewayStore
internal import Glibc
package import LinuxIO
internal import NetworkTypes

// The replica for the time in which the store's server is away.
extension StateFolder {
  package var replica: StoreReplica { StoreReplica("\(path)/replica.db", viewpoint: viewpoint) }

  package var hasStoreFile: Bool { access(storePath, F_OK) == 0 }

  /// Uses the store of a server from now on, or with `nil` the file.
  package func useStore(_ server: String?) throws(SystemError) {
    // It is of the store that was used before.
    replica.remove()
    if let server { return try TextFile.replace(serverPath, with: Array((server + "\n").utf8), mode: 0o600) }
    if access(serverPath, F_OK) == 0 { try TextFile.remove(serverPath) }
  }

  /// After so many seconds without the store all sessions end; `nil`: never.
  package var staleAfter: Int64? {
    guard let bytes = try? TextFile.read(path(of: .staleAfter), limit: 32) else { return nil }
    return Int64(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
  }

  /// The store's contents as far as they are known now.
  package struct Known {
    package var view: GatewayStore.View
    /// `nil`: the view is the replica's.
    package var store: GatewayStore?
    /// The reason why the store cannot be read; `nil`: it can.
    package var failure: StoreError?
  }

  /// The store's contents, or while its server is away those of the replica.
  package func known() throws -> Known {
    let (store, server) = try openStore(waiting: true)
    do throws(StoreError) {
      return Known(view: try store.load(), store: store)
    } catch {
      guard server != nil, let view = (try? replica.load()) ?? nil else { throw error }
      return Known(view: view, failure: error)
    }
  }

  /// The number of this gateway among those that share its key: random, made once.
  func gatewayID() throws(SystemError) -> String {
    let file = "\(path)/gateway-id"
    if let bytes = try? TextFile.read(file, limit: 64), !bytes.isEmpty { return String(decoding: bytes, as: UTF8.self) }
    var number: UInt64 = 0
    for _ in 0..<8 { number = number << 8 | UInt64(UInt8.random(in: .min ... .max)) }
    let id = String(number, radix: 16)
    try TextFile.replace(file, with: Array(id.utf8), mode: 0o600)
    return id
  }

  package var takeOverName: String { "take-over" }

  /// Tells a running gateway that it has the address that clients connect to now.
  package func announceTakeOver() throws(SystemError) { try TextFile.replace("\(path)/\(takeOverName)", with: [], mode: 0o600) }

  package static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    gethostname(&name, 255)
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
