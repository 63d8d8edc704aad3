import GatewayCredentials
import Glibc
import NetworkTypes
import Testing

@Suite struct CredentialTests {
  @Test("a hash belongs to its password alone, and has its parameters in it") func hashes() throws {
    let password = Array("correct horse".utf8)
    let hash = try #require(PasswordHash.cheapest.hash(password))
    #expect(hash.hasPrefix("$argon2id$v=19$"))
    #expect(PasswordHash.verify(password, hash) && !PasswordHash.verify(Array("correct hors".utf8), hash))
    #expect(PasswordHash.usual.isOutdated(hash) && !PasswordHash.cheapest.isOutdated(hash))
    for wrong in ["", "x", "$argon2id$v=19$m=8,t=1,p=1$", String(repeating: "a", count: 500)] {
      #expect(!PasswordHash.verify(password, wrong))
    }
  }

  @Test("a recovery code is read as a person writes it, and nothing else is one") func recovery() throws {
    let codes = (0..<200).map { _ in RecoveryCode.make() }
    #expect(
      Set(codes).count == codes.count && codes.allSatisfy { $0.wholeMatch(of: /([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}/) != nil })
    func hash(_ text: String) -> String? { RecoveryCode.hash(Array(text.utf8)) }
    #expect(Set(codes.compactMap(hash)).count == codes.count)
    // SHA-256 of the letters alone: `printf 7k2mx0rp9d4cw8t1 | sha256sum`.
    let right = hash("7k2m-x0rp-9d4c-w8t1")
    #expect(right == "7c602c1978f88588d1aed61705a3e3e904f6b2725eab84ac90f386ad6c70d1fb")
    for other in ["7K2M-X0RP-9D4C-W8T1", " 7k2mx0rp 9d4cw8t1", "7k2m-xorp-9d4c-w8tl", "7k2m-x0rp-9d4c-w8tI"] {
      #expect(hash(other) == right)
    }
    for other in ["", "123456", "7k2m-x0rp-9d4c-w8t", "7k2m-x0rp-9d4c-w8t11", "7k2m-x0rp-9d4c-w8tu", "7k2m-x0rp-9d4c-w8té"] {
      #expect(hash(other) == nil, "\(other)")
    }
  }

  /// RFC 6238, appendix B: the last six of its eight digits.
  @Test(
    "codes are those of RFC 6238",
    arguments: [(59, "287082"), (1_111_111_109, "081804"), (1_234_567_890, "005924"), (20_000_000_000, "353130")] as [(Int64, String)])
  func codes(time: Int64, code: String) throws {
    let secret = Array("12345678901234567890".utf8)
    let now = Timestamp(seconds: time)
    #expect(OneTimeCode.code(secret, step: time / 30) == Array(code.utf8))
    #expect(OneTimeCode.step(of: Array(code.utf8), secret, at: now + .seconds(30), after: 0) == time / 30)
    #expect(OneTimeCode.step(of: Array(code.utf8), secret, at: now + .seconds(61), after: 0) == nil)
    #expect(OneTimeCode.step(of: Array(code.utf8), secret, at: now, after: time / 30) == nil)
    #expect(OneTimeCode.step(of: Array("28708".utf8), secret, at: now, after: 0) == nil)
  }

  private func microseconds(_ body: () -> Void) -> Double {
    var (begin, end) = (timespec(), timespec())
    // The processor's time of this thread: others' load does not count.
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin)
    body()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
    return Double(end.tv_sec - begin.tv_sec) * 1e6 + Double(end.tv_nsec - begin.tv_nsec) / 1e3
  }

  @Test("the time of a check does not tell whether a name has a password") func time() throws {
    let judge = try #require(PasswordJudge(.cheapest))
    let hash = try #require(PasswordHash.cheapest.hash(Array("right".utf8)))
    let wrong = Array("wrong".utf8)
    var samples: (known: [Double], unknown: [Double]) = ([], [])
    for _ in 0..<1000 {
      samples.known.append(microseconds { #expect(!judge.isRight(wrong, hash)) })
      samples.unknown.append(microseconds { #expect(!judge.isRight(wrong, nil)) })
    }
    // Cohen's effect of ranks: how often a sample of one is above one of the other. 0.5 where nothing can be told.
    let all = (samples.known.map { ($0, true) } + samples.unknown.map { ($0, false) }).sorted { $0.0 < $1.0 }
    let ranks = all.enumerated().filter { $0.element.1 }.reduce(0.0) { $0 + Double($1.offset + 1) }
    let above = (ranks - 1000 * 1001 / 2) / (1000 * 1000)
    #expect(abs(above - 0.5) < 0.15, "\(above)")
    // Without a dummy, it would be told at once.
    let skipped = (0..<1000).map { _ in microseconds { _ = PasswordHash.verify(wrong, "") } }
    #expect(skipped.sorted()[500] < samples.known.sorted()[500] * 0.8)
  }

  /// New pages of this thread meanwhile.
  private func pages(_ body: () -> Void) -> Int {
    func faults() -> Int {
      var usage = rusage()
      getrusage(__rusage_who_t(1 /* RUSAGE_THREAD */), &usage)
      return usage.ru_minflt
    }
    let before = faults()
    body()
    return faults() - before
  }

  @Test("the memory of a hash has huge pages, where the kernel gives any") func hugePages() throws {
    let (size, huge, few) = (64 << 20, 2 << 20, 4096)
    // These flags are not a hash's, so nothing but this test asks for huge pages here.
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    let block = try #require(mmap(nil, size + huge, PROT_READ | PROT_WRITE, flags, -1, 0))
    try #require(block != MAP_FAILED)
    defer { munmap(block, size + huge) }
    let start = UnsafeMutableRawPointer(bitPattern: (UInt(bitPattern: block) + UInt(huge) - 1) & ~UInt(huge - 1))
    let own = try #require(start)
    madvise(own, size, 14 /* MADV_HUGEPAGE */)
    let given = pages { for place in stride(from: 0, to: size, by: 4096) { own.storeBytes(of: 1, toByteOffset: place, as: UInt8.self) } }
    let taken = pages { #expect(PasswordHash.usual.hash(Array("right".utf8)) != nil) }
    // 16,384 small ones.
    #expect(taken < few || given >= few, "\(taken), \(given)")
  }
}
