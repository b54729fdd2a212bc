// The coordinator: the first warp of block 0. It decides which task runs next, and on which blocks.
//
// All its lanes run this code alike; lane 0 writes. The counts and the command are in the shared memory of block 0. No
// other thread accesses them while the coordinator decides, since all other threads wait for a command. It reads the
// host's signals only between commands. The protocol of commands is in core/control/workers.cuh.
#pragma once
#include "core/control/commander.cuh"
#include "core/control/schedule.cuh"
#include "core/invariants.cuh"

class Coordinator : Commander {
  public:
    __device__ explicit Coordinator(Schedule schedule) : Commander(schedule.has_dummies), schedule_(schedule) {}

    // If the auction leaves over more rows, the solve ends there. The report goes to memory of the host, too.
    __device__ void solve(uint32 most_left, Report* mail) {
        SolveStatus status = SolveStatus::optimal;
        if (__ldcg(&state_.report->invalid_row) < state_.matrix.rows) {
            status = SolveStatus::invalid;
        } else if (__ldcg(&state_.report->empty_row) < state_.matrix.rows) {
            status = SolveStatus::infeasible;
        } else {
            status = run_auction() && left_ <= most_left ? run_searches() : SolveStatus::unfinished;
            if (status != SolveStatus::optimal) bound_ = ask_bound(Task::bound);
            settle();
        }
        conclude(status, mail);
        if constexpr (Listing::has_owners) Listing::end(state_);
        if (lane_index() == 0) command_ = {Task::finish, true, gridDim.x, 0, auction_, search_};
        __syncwarp();
        store_words(state_.command, command_);
        signal_workers();
        __syncthreads();
        middle_barrier(state_.barrier + kLine);
    }

  private:
    // --- auction ---

    // A power of two, so that float32 costs keep exact duals; a whole number for integers.
    __device__ Dual first_epsilon() const {
        int exponent = 0;
        frexp(list_gap_ * schedule_.first, &exponent);
        const double epsilon = list_gap_ * schedule_.first > 0 ? ldexp(0.5, exponent) : 0.0;
        // Where columns outnumber rows, prices must not rise more than necessary.
        return as_square() ? static_cast<Dual>(epsilon) : Dual(0);
    }
    // Returns false if the starting prices are so poor that the caller should choose others.
    __device__ bool run_auction() {
        const bool has_warm_up = schedule_.warm_up > 0 && as_square(),
                   prepares = has_warm_up && !has_dummies() && !signals_.stopped;
        if (has_dummies()) find_highest();
        if (!prepares) {
            perform(Task::prepare_auction, state_.matrix.rows);
            read_preparation();
        }
        if (has_warm_up) {
            run_phase(Dual(0), schedule_.warm_up, prepares);
            derive_duals();
            if (left_ <= state_.matrix.rows / Tuning::warm_up_left) return true;
        }
        const uint32 before = phases_;
        double finest = list_gap_ * schedule_.last;
        Dual epsilon = first_epsilon();
        for (;;) {
            run_phase(epsilon, schedule_.rounds);
            if (epsilon == Dual(0) || signals_.stopped) break;
            if (phases_ == before + 1 && schedule_.structure_threshold < infinity<double>()) {
                derive_duals();
                const double rise = ask_bound(Task::bound) - start_bound_;
                is_doubtful_ = list_gap_ > 0 && rise > schedule_.structure_threshold * list_gap_ * state_.matrix.rows;
                if (is_doubtful_ && left_ > state_.matrix.rows / 32 * Tuning::structured_left) return false;
            }
            epsilon = reduced(epsilon, finest);
        }
        derive_duals();
        if (is_doubtful_ && left_ > state_.matrix.rows / Tuning::doubtful_left) return false;
        refine(finest);
        return true;
    }
    // The next phase's epsilon; zero if it would be finer than the finest.
    __device__ Dual reduced(Dual epsilon, double finest) const {
        const Dual next = static_cast<Dual>(static_cast<double>(epsilon) * schedule_.factor);
        return static_cast<double>(next) < finest ? Dual(0) : next;
    }
    // Where phases down to `finest` left many rows of costs without structure, costs that decide are far below the list
    // gap. Goes on with finer epsilons, some phases at a time, as long as these leave fewer rows. (Of structured costs,
    // for which epsilon begins above the list gap, rows are left where columns are few.)
    __device__ void refine(double finest) {
        for (bool helps = as_square() && finest > 0 && schedule_.first < 1; helps && !signals_.stopped;) {
            const uint32 before = left_;
            if (before <= state_.matrix.rows / Tuning::refined_left) return;
            Dual epsilon = static_cast<Dual>(finest * schedule_.factor);
            finest /= Tuning::refinement;
            if (epsilon == Dual(0) || finest < ldexp(list_gap_, -Tuning::unit_bits)) return;
            for (bool ended = false; !ended && !signals_.stopped; epsilon = reduced(epsilon, finest)) {
                run_phase(epsilon, Tuning::refined_rounds);
                ended = epsilon == Dual(0);
            }
            derive_duals();
            helps = left_ < before - before / 4;
        }
    }

    // Derives u and the free rows from the prices.
    __device__ void derive_duals() {
        perform(Task::derive_duals, state_.matrix.cols);
        if (const uint32 refreshed = take(counts_.refresh)) {
            refresh(refreshed);
            perform(Task::derive_u_refreshed, refreshed);
            perform(Task::gather_free, state_.matrix.cols);
        }
        left_ = take_free();
        require_feasible_duals(state_);
    }

    // Reads the results of the preparation.
    __device__ void read_preparation() {
        bound_ = start_bound_ =
            __longlong_as_double(static_cast<int64>(counts_.answer)) - (has_dummies() ? of_dummies(level_) : 0.0);
        list_gap_ = static_cast<double>(from_key<Dual>(counts_.list_gap));
        auction_ = command_.auction;
        __syncwarp();
    }

    // `prepares`: the first run also executes the preparation.
    __device__ void run_phase(Dual epsilon, uint32 most_rounds, bool prepares = false) {
        ++phases_;
        if (signals_.stopped) return;
        auction_.epsilon = epsilon;
        auction_.finest = static_cast<Dual>(list_gap_ * schedule_.last);
        auction_.count = state_.matrix.rows;
        auction_.previous = auction_.present = auction_.rounds = auction_.most_rounds = 0;
        auction_.enough = state_.matrix.rows / Tuning::phase_left;
        uint32 part = has_dummies() ? Tuning::level_rounds : most_rounds;
        uint32 most = most_rounds;
        do {
            auction_.most_rounds = min(auction_.rounds + part, most);
            if (progress_wanted())
                publish_progress(kAuction, phases_, state_.matrix.rows - auction_.count, -infinity<double>());
            run(prepares ? Task::prepare_and_round : Task::rounds, auction_.count);
            if (prepares) read_preparation();
            prepares = false;
            if (auction_.refreshes()) refresh(auction_.waiting);
            const uint32 displaced = level_prices();
            const uint32 longest = displaced > 0 ? Tuning::busy_level_rounds : Tuning::most_level_rounds;
            if (has_dummies()) part = 2 * part < longest ? 2 * part : longest;
            const uint32 dummies = state_.matrix.cols - state_.matrix.rows,
                         alike = dummies < state_.matrix.rows ? dummies : state_.matrix.rows;
            if (displaced > alike / Tuning::unsettled && epsilon > Dual(0) && auction_.rounds >= most &&
                most < Tuning::level_times * most_rounds)
                most += part;
            const bool far = epsilon > Dual(0) && auction_.count > state_.matrix.rows / Tuning::far_left;
            if (far && auction_.rounds >= most && most < schedule_.times * most_rounds) most += most_rounds;
            auction_.most_rounds = most;
        } while (!auction_.ended() && !signals_.stopped);
        rounds_ += auction_.rounds;
        require_tau(state_);
        require_epsilon_optimality(state_, epsilon);
    }

    // Brings prices down for dummy rows. Returns how many rows lost their columns.
    __device__ uint32 level_prices() {
        if (!has_dummies()) return 0;
        clear_steps();
        perform(Task::level, state_.matrix.cols, Tuning::wide_cols);
        auction_.level = level_ = command_.auction.level;
        __syncwarp();
        const uint32 displaced = take(counts_.displaced);
        auction_.count += displaced;
        auction_.moved = auction_.moved || displaced > 0;
        return displaced;
    }
    __device__ void refresh(uint32 count) {
        refreshes_ += count;
        perform(Task::refresh, count, 2);
        if constexpr (Listing::has_owners) take(counts_.insufficient);
        if constexpr (Listing::fetches_rows) cache_insufficient_rows(true);
    }

    // Dispatches a task for the rows of a list, part by part, each after its rows arrived from the host. Returns early
    // if the host requests a stop.
    __device__ void with_rows_of_host(Task task, const int32* list, uint32 count, bool for_caches = false) {
        const uint32 room = Listing::room(state_);
        for (uint32 first = 0; first < count; first += room) {
            const uint32 part = count - first < room ? count - first : room;
            if (!Listing::fetch(list + first, part, for_caches)) return;
            perform(task, part, 1);
        }
    }
    // `for_caches`: rows that are not needed as a whole, either.
    __device__ void cache_insufficient_rows(bool for_caches) {
        const uint32 count = take(counts_.insufficient);
        with_rows_of_host(Task::cache_fetched_rows, Listing::insufficient_rows(state_), count, for_caches);
    }

    // --- searches ---

    // Where columns outnumber rows: whether the searches will take too many steps, at their pace so far.
    __device__ bool is_slow() const {
        const uint64 steps = search_.number, most = schedule_.most_steps;
        if (as_square() || steps * Tuning::pace_share < most) return false;
        return 3 * steps * left_ > Tuning::slow_thirds * most * (left_ - search_.free_count);
    }
    // Whether searches read rows again and again.
    __device__ bool reads_often() const {
        // Where columns outnumber rows, the sweeps of a search look at costs in its full rows.
        const uint32 weight = as_square() || Costs::is_in_memory ? 1 : Tuning::computed_full_row;
        const double reads =
            static_cast<double>(refreshes_ - refreshes_before_) + static_cast<double>(weight) * full_rows_;
        return reads > schedule_.most_reads * state_.matrix.rows;
    }
    // Whether they do because costs tie. A list then has some of the columns that a row could have, and trees do not
    // meet in it. The method "hungarian-tree" reads a row once an iteration, and few updates of its duals make many
    // pairs tight. Without ties each of them makes one pair tight, and it is slower.
    __device__ bool is_tied() {
        if constexpr (!Costs::is_in_memory) return false;
        const double rows = state_.matrix.rows;
        schedule_.most_reads *= 2;  // where they do not tie, look again later
        __syncwarp();
        if (lane_index() == 0) counts_.answer = 0;
        __syncwarp();
        return static_cast<double>(ask(Task::tight, state_.matrix.rows, Tuning::wide_count)) > Tuning::tied * rows;
    }
    __device__ SolveStatus run_searches() {
        refreshes_before_ = refreshes_;
        const Dual bucket_width = static_cast<Dual>(list_gap_ / Tuning::first_search_buckets);
        if constexpr (Costs::is_sparse) search_locally();
        bucket_width_ = bucket_width > Dual(0) ? bucket_width : list_gap_ > 0 ? Dual(1) : infinity<Dual>() / 4;
        for (search_.search = 1; search_.free_count > 0; ++search_.search) {
            if (is_doubtful_ && search_.search > Tuning::doubtful_searches) {
                const uint32 most = state_.matrix.rows / Tuning::doubtful_free;
                if (search_.free_count > (most > Tuning::few_free ? most : Tuning::few_free))
                    return SolveStatus::unfinished;
                is_doubtful_ = false;
            }
            if (search_.number >= schedule_.most_steps || is_slow()) return SolveStatus::unfinished;
            if (reads_often()) {
                if (!as_square()) return SolveStatus::unfinished;
                if (is_tied()) return SolveStatus::tied;
            }
            if (progress_wanted()) {
                bound_ = ask_bound(Task::bound);
                publish_progress(kSearch, search_.search, state_.matrix.rows - search_.free_count, bound_);
            }
            const bool closed = explore();
            if (signals_.stopped) return SolveStatus::stopped;
            if (search_.radius == kFar && square()) search_.radius = ask(Task::farthest, search_.open_count);
            if (search_.radius == kFar) return SolveStatus::infeasible;
            const bool several = !as_square() && search_.wanted > 1,
                       matched = several ? match_by_backward() : match(closed);
            // Rounding may make the forward and backward sums differ so much that no path lies within the search
            // radius.
            singly_ = several && !matched;
            if (!matched && !several) return SolveStatus::contradiction;
            require_tau(state_);
            require_feasible_duals(state_);
        }
        return has_dummies() ? search_from_dummies() : SolveStatus::optimal;
    }
    // Searches from dummy rows, when all others have their columns, as long as columns below the level have none.
    __device__ SolveStatus search_from_dummies() {
        find_highest();
        search_.from_dummies = true;
        for (uint32 left = list_below_level(); left > 0; ++search_.search) {
            search_.open_count = left;
            if (progress_wanted()) {
                bound_ = ask_bound(Task::bound);
                publish_progress(kSearch, search_.search, state_.matrix.rows, bound_);
            }
            const bool closed = explore();
            if (signals_.stopped) return SolveStatus::stopped;
            if (!closed) find_parents_and_augment();
            take(counts_.met);
            take(counts_.ends);
            take_free();
            level_ = level_ - from_key<Dual>(search_.radius);
            require_tau(state_);
            require_feasible_duals(state_);
            const uint32 still = list_below_level();
            if (still >= left || take(counts_.unsound) != 0) return SolveStatus::contradiction;
            left = still;
        }
        return SolveStatus::optimal;
    }
    // The frontier of a search from dummy rows, and its radius.
    __device__ void seed() {
        perform(Task::seed_distances, state_.matrix.cols, Tuning::wide_cols);
        search_.count = take(counts_.at_start);
        search_.radius = ask(Task::find_radius, search_.open_count);
    }
    // Matches free rows whose paths are short, sweep by sweep.
    __device__ void search_locally() {
        const uint32 before = search_.free_count;
        if (before == 0) return;
        for (bool goes_on = true; goes_on && !signals_.stopped;) {
            perform(Task::local_sweep, before, kTeamWarps + 1);
            const uint32 settled = take(counts_.settled);
            goes_on = settled > 0 && settled * Tuning::local_share >= take(counts_.tried);
        }
        perform(Task::gather_free, state_.matrix.cols);
        local_ = before - take_free();
        require_feasible_duals(state_);
    }
    // Activates waiting rows: the bucket limit moves beyond the nearest of them. False if none waits within the search
    // radius, or if the bucket limit has become the search radius.
    __device__ bool advances() {
        while (!search_.exhausted && search_.bucket_limit < search_.radius) {
            if (search_.radius == kFar && search_.wanted > 1 && !square()) {
                const uint64 nearest = ask_columns(Task::nearest_waiting, kFar);
                search_.radius =
                    reached_radius(nearest == kFar ? kFar : search_.bucket_limit, nearest == kFar ? 1 : search_.wanted);
                if (search_.radius != kFar) return false;
            }
            clear_steps();
            const uint64 nearest = ask_columns(Task::advance, kFar);
            if (nearest == kFar || nearest >= search_.radius) return false;
            search_ = command_.search;
            search_.count = counts_.step[search_.number % kStepCounts].next;
            __syncwarp();
            widen_bucket(search_);
            if (search_.count > 0) return true;
        }
        return false;
    }
    // Where columns outnumber rows: the distance of the farthest free column within `limit`, if at least `enough` are
    // within it; otherwise kFar.
    __device__ uint64 reached_radius(uint64 limit, uint32 enough) {
        search_.radius = limit;
        const uint64 farthest = ask_columns(Task::reached, 0);
        return take(counts_.met) >= enough ? farthest : kFar;
    }
    __device__ uint32 take_free() {
        search_.open_count = take(counts_.free_cols);
        search_.count = take(counts_.at_start);
        return search_.free_count = take(counts_.free_rows);
    }

    // By numbers that do not depend on the order of events, as the scans of steps do: where costs tie, the answer may
    // depend on the limits of buckets.
    __device__ void choose_bucket_width() {
        const uint64 steps = latest_ > search_.born ? latest_ - search_.born : 0;
        const uint64 looks = static_cast<uint64>(buckets_) * (state_.matrix.cols / Tuning::cols_of_row);
        const bool few = reached_ < Tuning::few_reached * kNarrowRows * steps || looks > reached_;
        const bool many = reached_ > Tuning::many_reached * kNarrowRows * steps;
        if (reached_ > 0 && few && buckets_ > 1) buckets_ /= 2;
        if (!few && many && buckets_ < Tuning::most_buckets) buckets_ *= 2;
        const Dual bucket_width = from_key<Dual>(search_.radius) / static_cast<Dual>(buckets_);
        if (bucket_width > Dual(0)) bucket_width_ = bucket_width;
        search_.bucket_width = bucket_width_;
    }
    // Finds the search radius and all distances up to it. Returns true if the paths were augmented, too.
    __device__ bool explore() {
        if (lane_index() == 0) counts_.nearest = kFar;
        __syncwarp();
        choose_bucket_width();
        search_.radius = kFar;
        search_.present = 0;
        search_.exhausted = search_.nearer = false;
        // Rows that must be fetched are matched singly: core/search/backward.cuh reads costs here and there in full
        // rows.
        const bool singly = !as_square() && (Listing::fetches_rows || singly_ || search_.free_count <= Tuning::singly);
        const uint32 sought = search_.from_dummies ? search_.open_count : search_.free_count;
        search_.wanted = singly ? 1 : sought - sought / Tuning::unwanted_share;
        search_.born = search_.number;
        search_.bucket_limit = as_key(search_.bucket_width);
        if (search_.from_dummies) seed();
        for (;;) {
            while ((search_.count > 0 || advances()) && !signals_.stopped) run(Task::steps, search_.count);
            if (signals_.stopped) return false;
            if ((square() || search_.from_dummies) && search_.open_count > kWarp &&
                search_.radius != as_key(Dual(0))) {  // the steps know the radius only approximately
                const uint64 radius = ask(Task::find_radius, search_.open_count);
                search_.radius = radius < search_.radius ? radius : search_.radius;
            }
            const bool closes = search_.radius != kFar && counts_.full == 0 && (as_square() || search_.wanted == 1);
            perform(closes ? Task::close : Task::uncertified, state_.matrix.cols);
            reached_ = take(counts_.reached);
            latest_ = take(counts_.latest);
            const uint32 uncertified = take(counts_.refresh);
            if (uncertified == 0) return closes;
            resolve(uncertified);
        }
    }

    __device__ void resolve(uint32 uncertified) {
        if constexpr (Listing::fetches_rows) {
            const uint32 room = Listing::room(state_);
            uncertified = uncertified < room ? uncertified : room;  // the next iteration takes the others
            perform(Task::relist, uncertified, 1);
            cache_insufficient_rows(true);
            if (!signals_.stopped && Listing::came_as_caches(state_)) {
                perform(Task::relist, uncertified, 1);
                cache_insufficient_rows(false);
            }
            if (signals_.stopped) return;
        }
        clear_steps();
        perform(Task::resolve, uncertified, 2);
        search_ = command_.search;
        take(counts_.refresh);
        take(counts_.whole);
        if constexpr (Listing::has_owners) take(counts_.insufficient);
        refreshes_ += search_.listed;
    }

    // Augments along disjoint paths within the search radius and updates the duals. False on a contradiction.
    __device__ bool match(bool closed) {
        const uint32 before = search_.free_count;
        if (!closed && !find_parents_and_augment()) return true;
        const uint32 met = take(counts_.met);
        take(counts_.ends);
        return met > 0 && counts_.unsound == 0 && take_free() < before;
    }
    // False if the host requests a stop.
    __device__ bool find_parents_and_augment() {
        const uint32 full = take(counts_.full);
        search_.mixes = full > 0;
        perform(Task::parents, state_.matrix.cols);
        if constexpr (Listing::fetches_rows) {
            with_rows_of_host(Task::parents_in_full_rows, state_.full_rows, full);
            if (signals_.stopped) return false;
        } else {
            perform(Task::parents_in_full_rows, full, 2);
        }
        full_rows_ += full;
        perform(Task::augment, state_.matrix.cols);
        return true;
    }
    // The same where columns outnumber rows. False if no row was matched.
    __device__ bool match_by_backward() {
        perform(Task::begin_backward, state_.matrix.cols);
        const uint32 reached = search_.count = take(counts_.met);
        run(Task::backward, reached);
        const uint32 full = take(counts_.full), before = search_.free_count;
        full_rows_ += full;
        perform(Task::successors, reached);
        perform(Task::full_successors, full, 2);
        perform(Task::claim_ends, before);
        perform(Task::augment_successors, state_.matrix.cols);
        return take_free() < before;
    }

    __device__ void conclude(SolveStatus status, Report* mail) {
        if (lane_index() != 0) return;
        Report& report = *state_.report;
        report.status = static_cast<int64>(status);
        report.free_rows = search_.free_count;
        report.phases = phases_;
        report.rounds = rounds_;
        report.bids = auction_.bids;
        report.searches = search_.search;
        report.steps = search_.number;
        report.scans = search_.scans;
        report.refreshes = refreshes_;
        report.full_rows = full_rows_;
        report.left = left_;
        report.local = local_;
        report.list_gap = list_gap_;
        report.start_bound = start_bound_;
        report.bound = bound_;
        *mail = report;
    }

    static constexpr uint32 kAuction = 1, kSearch = 2;  // stages that the host is told of

    Schedule schedule_;
    bool is_doubtful_ = false;  // whether the starting prices are
    bool singly_ = false;       // the last search for several rows matched none, so the next one matches one
    double list_gap_ = 0, start_bound_ = 0, bound_ = 0;
    uint32 buckets_ = Tuning::first_buckets;
    uint32 reached_ = 0, latest_ = 0;  // in the last search: see Counts
    Dual bucket_width_ = Dual(0);      // at the start of a search
    uint32 left_ = 0, local_ = 0, phases_ = 0, rounds_ = 0, full_rows_ = 0;
    uint64 refreshes_ = 0, refreshes_before_ = 0;  // in all, and before searches
};
