import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs checks, counts them, and prints those that did not pass with their cause. */
final class Suite {
  /** One check: it passes when it returns. */
  interface Check {
    void run() throws Exception;
  }

  /** A check may take this long: a driver that waits for ever is a failure like any other. */
  private static final long PATIENCE_SECONDS = 90;

  private final String filter;
  private final boolean verbose;
  private final ExecutorService runner =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
          });
  private int passed;
  private int failed;
  private int skipped;

  Suite(String filter, boolean verbose) {
    this.filter = filter;
    this.verbose = verbose;
  }

  /** Runs one check, unless the filter leaves it out. */
  void check(String name, Check body) {
    if (!name.contains(filter)) {
      return;
    }
    long start = System.nanoTime();
    Throwable cause = outcome(body);
    long millis = (System.nanoTime() - start) / 1_000_000;
    if (cause == null) {
      passed++;
      if (verbose) {
        System.out.printf("passed   jdbc %s (%d ms)%n", name, millis);
      }
      return;
    }
    failed++;
    System.out.printf("failed   jdbc %s (%d ms): %s%n", name, millis, cause);
    if (verbose) {
      cause.printStackTrace(System.out);
    }
  }

  /** Counts a check that cannot run here; the cause says why. */
  void skip(String name, String cause) {
    if (name.contains(filter)) {
      skipped++;
      System.out.printf("skipped  jdbc %s: %s%n", name, cause);
    }
  }

  private Throwable outcome(Check body) {
    var running =
        runner.submit(
            () -> {
              body.run();
              return null;
            });
    try {
      running.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      return null;
    } catch (TimeoutException e) {
      running.cancel(true);
      return new AssertionError("no end after " + PATIENCE_SECONDS + " s");
    } catch (ExecutionException e) {
      return e.getCause();
    } catch (InterruptedException e) {
      return e;
    }
  }

  /** Prints the sum as the conformance suite reads it; the result is the exit status. */
  int finish() {
    System.out.printf("jdbc: %d passed, %d failed, %d skipped%n", passed, failed, skipped);
    return failed > 0 || passed == 0 ? 1 : 0;
  }
}
